"""Wrong solutions to week2/fix_the_wait."""

from forgekit.lessons.wrong import Wrong

COMMIT = "        cute.arch.cp_async_commit_group()\n"
SYNC = "    cute.arch.sync_warp()\n"
WAIT = "        cute.arch.cp_async_wait_group(3 - k)\n"
COUNT, MORE = "cp_async_wait_group(3 - k)", "cp_async_wait_group(4 - k)"

WRONG = (
    Wrong("as given", {COMMIT: "    " + COMMIT, COUNT: MORE, SYNC: ""}, "a vector is read before the copy to its place"),
    Wrong("the count alone", {COMMIT: "    " + COMMIT, SYNC: ""}, "In this row, some lanes have fewer"),
    Wrong("no meeting", {SYNC: ""}, "A shuffle does not order memory"),
    Wrong("a meeting before each wait", {SYNC: "", WAIT: "        cute.arch.sync_warp()\n" + WAIT}, "With m = 2, n = 500, float32, the sanitizer reports an error"),
    Wrong("still one too many", {COUNT: MORE}, "at most the 3 - k newer groups"),
    Wrong("the other way round", {"wait_group(3 - k)": "wait_group(k)"}, "the first of 4 waits is for all"),
    Wrong("a barrier for each group", {WAIT: WAIT + "        cute.arch.sync_threads()\n",
                                       SYNC: "    cute.arch.sync_threads()\n"}, "asks for at most 1 barrier"),
    Wrong("the maximum begins at -1e38", {
        "m = -Float32.inf": "m = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("two groups in flight until the last", {
        "wait_group(3 - k)": "wait_group(2 if k < 3 else 0)"}, "A copy is complete for its own thread after"),
    Wrong("each vector copied twice", {"            cute.copy(": "            cute.copy(atom, gX[None, k * 32 + lane], sX[None, k * 32 + lane])\n            cute.copy("},
          "copies to shared memory, byte"),
)  # fmt: skip
