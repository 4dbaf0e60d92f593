"""Wrong solutions of week1/last_block_mean."""

from forgekit.lessons.wrong import Wrong

FENCE = "        cute.arch.fence_acq_rel_gpu()\n"
COUNT = "        sTicket[0] = cute.arch.atomic_add(mCount.iterator + row, Int32(1))\n"
BARRIER = "    cute.arch.sync_threads()\n    if sTicket"
PLAIN = "        sTicket[0] = mCount[row]\n        mCount[row] = sTicket[0] + 1\n"

WRONG = (
    Wrong("no fence before", {FENCE + COUNT: COUNT}, "before it sees the part"),
    Wrong("no fence behind", {COUNT + FENCE: COUNT}, "taken notice of"),
    Wrong("not set back", {"            mCount[row] = 0\n": ""}, "changed its input, argument 2"),
    Wrong("plain counter", {COUNT: PLAIN}, "With m = 1, n = 1,025"),
    Wrong("no barrier", {BARRIER: "    if sTicket"}, "Race in shared memory"),
    Wrong("one too many", {"== pieces - 1": "== pieces"}, "has to hold in the end what it held before"),
    Wrong("the first one", {"== pieces - 1": "== 0"}, "results that depend on the order of threads"),
    Wrong("the block with the last piece", {"if sTicket[0] == pieces - 1:":
                                            "if piece == pieces - 1:"}, "thread (1, 0, 0) of block (4, 0, 0) reads mPart"),
    Wrong("not divided", {"total / mX.shape[1]": "total"}, "the result is wrong"),
    Wrong("no predicate", {"if n < mX.shape[1]:": "if n >= 0:"}, "Out of bounds"),
    Wrong("a quarter of a piece", {"range_constexpr(4)": "range_constexpr(1)"},
          "only the first 256 columns"),
    Wrong("counts rows together", {"mCount.iterator + row": "mCount.iterator"}, "With m = 3"),
    Wrong("a barrier more", {BARRIER: "    cute.arch.sync_threads()\n" + BARRIER},
          "the solution gets by with fewer"),
)  # fmt: skip
