"""Wrong solutions of week2/two_stages."""

from forgekit.lessons.wrong import Wrong

COMMIT = "        cute.arch.cp_async_commit_group()\n"
WAIT = "        cute.arch.cp_async_wait_group(1)\n"
NEXT = "            cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"
READ = "            x = tXsX[None, k % 2].load()\n"

WRONG = (
    Wrong("no wait", {WAIT: ""}, "read before its copy has come"),
    Wrong("two in flight", {"wait_group(1)": "wait_group(2)"}, "tile k is read and tile k + 1 is in flight"),
    Wrong("waits for all", {"wait_group(1)": "wait_group(0)"}, "start the next tile first"),
    Wrong("a second wait for all", {WAIT: WAIT + "        cute.arch.cp_async_wait_group(0)\n"},
          "No copy is in flight any more"),
    Wrong("commit in the if", {NEXT + COMMIT: NEXT + "    " + COMMIT}, "every round has to commit"),
    Wrong("one buffer", {"(k + 1) % 2": "0", "k % 2": "0"}, "in two different buffers"),
    Wrong("the other buffer", {"None, k % 2": "None, (k + 1) % 2"}, "was never copied to"),
    Wrong("the first tile alone", {"range(cute.ceil_div(vectors, 32))": "range(1)"},
          "only the first tile"),
    Wrong("full tiles alone", {"range(cute.ceil_div(vectors, 32))": "range(vectors // 32)"},
          "which is not full, is left out"),
    Wrong("no predicate on the look", {"if v < vectors:": "if v >= 0:"}, "tile k - 2 has left"),
    Wrong("no predicate on the copy", {"if v + 32 < vectors:": "if v >= 0:"}, "Out of bounds"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one comes"),
    Wrong("maximum not added", {"m_row + cute.math.log": "cute.math.log"}, "has to be added again"),
    Wrong("through registers", {READ: "            x = gX[None, v].load()\n"},
          "Bytes that threads ask for in loads"),
    Wrong("a buffer for each tile", {"(4, 32, 2))": "(4, 32, 32))", "(k + 1) % 2": "(k + 1) % 32",
                                     "None, k % 2": "None, k % 32"}, "Bytes of shared memory"),
)  # fmt: skip
