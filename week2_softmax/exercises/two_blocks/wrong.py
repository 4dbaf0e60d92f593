"""Wrong solutions to week2/two_blocks."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive_relaxed()\n", "    cute.arch.cluster_wait()\n"
SECOND = "    m, s = sPart[0, lane % 4], sPart[1, lane % 4]\n"
GUARD = "Float32(0.0) if m == -Float32.inf else m"
LOAD = "    if v < cute.size(gX, mode=[1]):\n        cute.autovec_copy(gX[None, v], rX)\n"

WRONG = (
    Wrong("no fence", {"    cute.arch.mbarrier_init_fence()\n": ""}, "a relaxed arrival publishes nothing"),
    Wrong("sent at once", {ARRIVE: "", WAIT: ""}, "only after the other block has started"),
    Wrong("eight bytes too few", {"4 * 8)": "3 * 8)"}, "has to expect the bytes of all four"),
    Wrong("eight bytes too many", {"4 * 8)": "5 * 8)"}, "each block receives four pairs of 8 bytes"),
    Wrong("all to one place", {"(rank * 2 + warp)": "warp"}, "each of the four warps has its own slot"),
    Wrong("its own half alone", {SECOND: "    m, s = sPart[0, rank * 2 + lane % 2], "
                                 "sPart[1, rank * 2 + lane % 2]\n", "s *= cute": "s *= 0.5 * cute"},
          "a softmax of its own half"),
    Wrong("pairs twice", {"s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)":
                          "s = cute.arch.warp_reduction(s, operator.add, threads_in_group=8)"},
          "twice as large as it should be"),
    Wrong("-inf minus -inf", {GUARD: "m"}, "whole warps have no elements"),
    Wrong("not divided", {" * (1.0 / s)": ""}, "nothing is divided"),
    Wrong("read again", {"rX.store(cute.math.exp(x - m_row": LOAD.strip() + "\n    rX.store(cute.math.exp("
                         "rX.load() - m_row"}, "Bytes requested by loads"),
    Wrong("the maximum begins at -1e38", {
        "m = x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)": "m = x.reduce(cute.ReductionOp.MAX, -1e38, 0)"},
        "float32, the result is wrong"),
    Wrong("another barrier of the cluster", {"    rX.store(cute.math.exp(x - m_row": ARRIVE + WAIT + "    rX.store(cute.math.exp(x - m_row"},
          "at most 1 cluster barrier"),
)  # fmt: skip
