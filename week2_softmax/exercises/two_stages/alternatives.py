"""Other correct solutions to week2/two_stages."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("element by element", {
        "            x = tXsX[None, k % 2].load()\n"
        "            m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))\n"
        "            added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)\n"
        "            s = s * cute.math.exp(m - m_new, fastmath=True) + added\n            m = m_new\n":
            "            for e in cutlass.range_constexpr(4):\n                x = sX[e, lane, k % 2]\n"
            "                m_new = cutlass.max(m, x)\n"
            "                s = s * cute.math.exp(m - m_new) + cute.math.exp(x - m_new)\n"
            "                m = m_new\n",
    }),
    Wrong("waits, then starts the next", {"        if v + 32 < vectors:\n            cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])\n        cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group(1)\n":
          "        cute.arch.cp_async_wait_group(0)\n        if v + 32 < vectors:\n            cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])\n        cute.arch.cp_async_commit_group()\n"}),
    Wrong("shuffles by hand", {
        "    m_row = cute.arch.warp_reduction(m, cute.arch.fmax)\n":
            "    m_row = m\n    for offset in (16, 8, 4, 2, 1):\n"
            "        m_row = cute.arch.fmax(m_row, cute.arch.shuffle_sync_bfly(m_row, offset=offset))\n",
        "    s = cute.arch.warp_reduction(s * cute.math.exp(m - m_row, fastmath=True), operator.add)\n":
            "    s = s * cute.math.exp(m - m_row, fastmath=True)\n"
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
    Wrong("each lane has its own loop", {
        "    for k in range(cute.ceil_div(vectors, 32)):\n        v = k * 32 + lane\n": "    for v in range(lane, vectors, 32):\n        k = v // 32\n",
    }),
    Wrong("the last round after the loop", {
        "    for k in range(cute.ceil_div(vectors, 32)):\n": "    last = cute.ceil_div(vectors, 32) - 1\n    for k in range(last):\n",
        "    m_row = cute": """    cute.arch.cp_async_wait_group(0)
    if last * 32 + lane < vectors:
        x = tXsX[None, last % 2].load()
        m_new = cute.arch.fmax(m, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
        added = cute.math.exp(x - m_new, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
        s = s * cute.math.exp(m - m_new, fastmath=True) + added
        m = m_new
    m_row = cute""",
    }),
)  # fmt: skip
