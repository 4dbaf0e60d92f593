"""Wrong solutions to week1/fix_the_counter."""

from forgekit.lessons.wrong import Wrong

FENCE = "        cute.arch.fence_acq_rel_gpu()\n"
COUNT = "        ticket = cute.arch.atomic_add(mCount.iterator, Int32(1))\n"
RESET = "            mCount[0] = 0\n"
ALL = FENCE + COUNT + FENCE

WRONG = (
    Wrong("as given", {ALL: COUNT, RESET: ""}, "changed its input mCount"),
    Wrong("set back alone", {ALL: COUNT}, "synchronise through an atomic counter"),
    Wrong("no fence before", {ALL: COUNT + FENCE}, "before it sees the part"),
    Wrong("no fence after", {COUNT + FENCE: COUNT}, "needs an acquire"),
    Wrong("releases within the block alone", {ALL: COUNT.replace("Int32(1))", 'Int32(1), sem="acq_rel", scope="cta")')},
          'sem="acq_rel", scope="cta"'),
    Wrong("counts within the block alone", {COUNT: COUNT.replace("Int32(1))", 'Int32(1), scope="cta")')},
          'Int32(1), scope="cta"'),
    Wrong("the block with the last piece", {"if ticket == pieces - 1:": "if piece == pieces - 1:"},
          "has not been written since empty()"),
    Wrong("lane 5 stores the part", {"    if lane == 0:\n        mPart[piece]": "    if lane == 5:\n        mPart[piece]",
          ALL: "    if lane == 0:\n" + ALL}, "different threads execute the store of the part"),
    Wrong("set back by every warp", {RESET: "", "    if ticket == pieces - 1:\n":
                                     "    if lane == 0:\n        mCount[0] = 0\n"
                                     "    if ticket == pieces - 1:\n"}, "Race in global memory"),
    Wrong("every 33rd part", {"range(lane, pieces, 32)": "range(lane, pieces, 33)"}, "float32, the result is wrong"),
    Wrong("the last block begins with -1e9", {
        "        best = -Float32.inf": "        best = Float32(-1e9)"}, "start it at −∞"),
)  # fmt: skip
