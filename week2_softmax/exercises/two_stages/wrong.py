"""Wrong solutions to week2/two_stages."""

from forgekit.lessons.wrong import Wrong

WAIT = "        cute.arch.cp_async_wait_group(1)\n"
RESCALED = "s * cute.math.exp(m - m_new, fastmath=True)"
READ = "            x = tXsX[None, k % 2].load()\n"

WRONG = (
    Wrong("no wait", {WAIT: ""}, "read before its copy has arrived"),
    Wrong("waits for all", {"wait_group(1)": "wait_group(0)"}, "do not wait for its group yet"),
    Wrong("one buffer", {"(k + 1) % 2": "0", "k % 2": "0"}, "in two different buffers"),
    Wrong("the other buffer", {"None, k % 2": "None, (k + 1) % 2"}, "no data was ever copied"),
    Wrong("narrow copies", {"num_bits_per_copy=128": "num_bits_per_copy=32"}, "Which elements does a lane copy in round k"),
    Wrong("the first tile alone", {"range(cute.ceil_div(vectors, 32))": "range(1)"},
          "only the first tile"),
    Wrong("full tiles alone", {"range(cute.ceil_div(vectors, 32))": "range(vectors // 32)"},
          "which is not full, is left out"),
    Wrong("no predicate on the look", {"if v < vectors:": "if v >= 0:"}, "tile k - 2 has left"),
    Wrong("the maximum of the first elements", {"x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)": "x[0]"},
          "With m = 2, n = 1,000, float32, the result is wrong"),
    Wrong("no rescaling", {RESCALED: "s"}, "is not rescaled when a larger one appears"),
    Wrong("maximum not added", {"m_row + cute.math.log": "cute.math.log"}, "has to be added back"),
    Wrong("through registers", {READ: "            x = gX[None, v].load()\n"},
          "Bytes requested by loads"),
    Wrong("the maximum begins at -1e38", {
        "m, s = -Float32.inf": "m, s = Float32(-1e38)"}, "float32, the result is wrong"),
    Wrong("at most 1e4 is subtracted", {"            added": "            m_new = cute.arch.fmin(m_new, Float32(1e4))\n            added"},
          "Inf: 1 in actual, 0 in expected"),
    Wrong("three tiles", {"make_layout((4, 32, 2))": "make_layout((4, 32, 3))", "(k + 1) % 2": "(k + 1) % 3", "k % 2].load": "k % 3].load"},
          "at most 1,024 bytes of shared memory"),
    Wrong("waits for one group in the first round alone", {"        cute.arch.cp_async_wait_group(1)\n": "        if k == 0:\n            cute.arch.cp_async_wait_group(1)\n        else:\n            cute.arch.cp_async_wait_group(0)\n"},
          "at 7 of the reads, no copy is in flight"),
    Wrong("the tail without cp.async", {
        "    if lane < vectors:\n        cute.copy(atom, gX[None, lane], tXsX[None, 0])": "    full = vectors // 32 * 32\n    if lane < full:\n        cute.copy(atom, gX[None, lane], tXsX[None, 0])",
        "for k in range(cute.ceil_div(vectors, 32)):": "for k in range(vectors // 32):",
        "if v + 32 < vectors:": "if v + 32 < full:",
        "        if v < vectors:\n            x = tXsX[None, k % 2].load()\n            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n            s = s * cute.math.exp(m - m_new, fastmath=True) + added\n            m = m_new\n": "        x = tXsX[None, k % 2].load()\n        m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n        added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n        s = s * cute.math.exp(m - m_new, fastmath=True) + added\n        m = m_new\n    if full + lane < vectors:\n        x = gX[None, full + lane].load()\n        m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n        added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n        s = s * cute.math.exp(m - m_new, fastmath=True) + added\n        m = m_new\n",
    }, "Loads into registers: 5 with m = 5, n = 1,000"),
    Wrong("the tail copied late", {
        "    if lane < vectors:\n        cute.copy(atom, gX[None, lane], tXsX[None, 0])": "    full = vectors // 32 * 32\n    if lane < full:\n        cute.copy(atom, gX[None, lane], tXsX[None, 0])",
        "for k in range(cute.ceil_div(vectors, 32)):": "for k in range(vectors // 32):",
        "if v + 32 < vectors:": "if v + 32 < full:",
        "        if v < vectors:\n            x = tXsX[None, k % 2].load()\n            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n            s = s * cute.math.exp(m - m_new, fastmath=True) + added\n            m = m_new\n": "        x = tXsX[None, k % 2].load()\n        m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n        added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n        s = s * cute.math.exp(m - m_new, fastmath=True) + added\n        m = m_new\n    if full + lane < vectors:\n        cute.copy(atom, gX[None, full + lane], tXsX[None, 0])\n        cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group(0)\n        x = tXsX[None, 0].load()\n        m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n        added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n        s = s * cute.math.exp(m - m_new, fastmath=True) + added\n        m = m_new\n",
    }, "at 2 of the reads, no copy is in flight"),
)  # fmt: skip
