"""Wrong solutions of week2/staged_rows."""

from forgekit.lessons.wrong import Wrong

COMMIT = "        cute.arch.cp_async_commit_group()\n"
WAIT = "        cute.arch.cp_async_wait_group(7 - k)\n"
IF_COPY = "        if k * 32 + lane < vectors:\n            cute.copy"
IF_LOOK = "        if k * 32 + lane < vectors:\n            x = "
READ = "            x = tXsX[None, k].load()\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"

WRONG = (
    Wrong("one group too many", {"wait_group(7 - k)": "wait_group(8 - k)"},
          "a read of shared memory comes before the wait"),
    Wrong("no wait", {WAIT: ""}, "the wait that covers its copy"),
    Wrong("no commit", {COMMIT: ""}, "at most the 7 - k newer groups may be"),
    Wrong("one wait for all", {WAIT: "", "    m, s = -Float32": "    cute.arch.cp_async_wait_group(0)\n"
                               "    m, s = -Float32"}, "is for all groups"),
    Wrong("waits for all each time", {"wait_group(7 - k)": "wait_group(0)"}, "nothing is computed while"),
    Wrong("a second wait for all", {WAIT: WAIT + "        cute.arch.cp_async_wait_group(0)\n"},
          "No copy is in flight any more"),
    Wrong("commit in the if", {COMMIT: "    " + COMMIT}, "In this row lanes have fewer"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one comes"),
    Wrong("maximum of the lane", {" - m_row, fastmath=True) * (1.0": " - m, fastmath=True) * (1.0"},
          "its own maximum"),
    Wrong("not divided", {" * (1.0 / s)": ""}, "nothing is divided"),
    Wrong("no predicate on the copy", {IF_COPY: IF_COPY.replace("k * 32 + lane < vectors", "lane >= 0")},
          "Out of bounds"),
    Wrong("no predicate on the look", {IF_LOOK: IF_LOOK.replace("k * 32 + lane < vectors", "lane >= 0")},
          "was never copied"),
    Wrong("full tiles alone", {IF_LOOK: IF_LOOK.replace("k * 32 + lane < vectors",
                                                        "k * 32 + 31 < vectors")},
          "the rest of the row is missing"),
    Wrong("through registers", {READ: "            x = gX[None, k * 32 + lane].load()\n"},
          "elements are loaded that the result does not need"),
    Wrong("read again", {"tXsX[None, k].load() - m_row": "gX[None, k * 32 + lane].load() - m_row"},
          "Bytes that threads ask for in loads"),
    Wrong("four rows of shared memory", {"(4, 32, 8))": "(4, 32, 32))"}, "Bytes of shared memory"),
    Wrong("half as many", {"    for k in cutlass.range_constexpr(8):\n        if k * 32 + lane < vectors:\n"
                           "            rY": "    for k in cutlass.range_constexpr(4):\n"
                           "        if k * 32 + lane < vectors:\n            rY"}, "512 of 1,0"),
)  # fmt: skip
