"""Wrong solutions to week2/cluster_logsumexp."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive_relaxed()\n", "    cute.arch.cluster_wait()\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"

WRONG = (
    Wrong("no fence", {"    cute.arch.mbarrier_init_fence()\n": ""}, "a relaxed arrival publishes nothing"),
    Wrong("sent at once", {ARRIVE: "", WAIT: ""}, "only after block 0 has started"),
    Wrong("eight bytes too few", {"16 * 8)": "15 * 8)"}, "has to expect the bytes of all 16"),
    Wrong("eight bytes too many", {"16 * 8)": "17 * 8)"}, "bytes or arrivals that never come"),
    Wrong("all to one place", {"(rank * 4 + cute.arch.warp_idx())": "cute.arch.warp_idx()"},
          "each of the 16 warps has its own slot"),
    Wrong("the first share alone", {"m, s = sPart[0, tidx % 16], sPart[1, tidx % 16]":
                                    "m, s = sPart[0, tidx % 4], sPart[1, tidx % 4]"},
          "four pairs of the first block"),
    Wrong("each block the whole row", {"range(rank * 128 + tidx, mX.shape[1], 512)":
                                       "range(tidx, mX.shape[1], 128)"},
          "has read the whole row"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one appears"),
    Wrong("-inf minus -inf", {"    if m < m_warp:\n        s *=": "    s *="}, "whole warps have no elements"),
    Wrong("no logarithm", {"m_row + cute.math.log(s, fastmath=True)": "s"}, "plus its logarithm"),
    Wrong("maximum not added", {"m_row + cute.math.log": "cute.math.log"}, "has to be added back"),
    Wrong("the maximum begins at -1e30", {
        "m, s = -Float32.inf": "m, s = Float32(-1e30)"}, "float32, the result is wrong"),
    Wrong("no cluster", {", cluster=(4, 1, 1)": ""}, "no launch has `cluster=`"),
)  # fmt: skip
