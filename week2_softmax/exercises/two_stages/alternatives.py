"""Other correct solutions to week2/two_stages."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
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
)  # fmt: skip
