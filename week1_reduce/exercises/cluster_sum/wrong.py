"""Wrong solutions of week1/cluster_sum."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive()\n", "    cute.arch.cluster_wait()\n"
ALL = "mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]"

WRONG = (
    Wrong("not begun together", {ARRIVE + "    total = Float32": "    total = Float32",
                                 WAIT + "    if tidx == 0:": "    if tidx == 0:"},
          "only after both have started"),
    Wrong("to everyone's own", {"sPart.iterator + rank, 0)": "sPart.iterator + rank, rank)"},
          "reads shared memory, byte 20"),
    Wrong("the first share alone", {ALL: "mY[row] = sPart[0]"}, "share of the first block"),
    Wrong("every block adds it all", {"range(rank * 128 + tidx, mX.shape[1], 512)":
                                      "range(tidx, mX.shape[1], 128)"}, "the whole row"),
    Wrong("no barrier of the block", {"    cute.arch.sync_threads()\n" + WAIT: WAIT},
          "Race in shared memory"),
    Wrong("no cluster", {", cluster=(4, 1, 1)": ""}, "no launch has `cluster=`"),
)  # fmt: skip
