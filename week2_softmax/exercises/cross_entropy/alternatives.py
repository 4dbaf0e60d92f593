"""Other correct solutions to week2/cross_entropy."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("shuffles by hand", {
        "    m_warp = cute.arch.warp_reduction_max(m)\n":
            "    m_warp = m\n    for offset in (16, 8, 4, 2, 1):\n"
            "        m_warp = cute.arch.fmax(m_warp, cute.arch.shuffle_sync_bfly(m_warp, offset=offset))\n",
        "    s = cute.arch.warp_reduction_sum(s)\n":
            "    for offset in (16, 8, 4, 2, 1):\n"
            "        s += cute.arch.shuffle_sync_bfly(s, offset=offset)\n",
    }),
    Wrong("the target's thread hands its element over", {
        "    m, s = -Float32.inf, Float32(0.0)\n":
            "    sX = smem.allocate_tensor(Float32, cute.make_layout(1), 16)\n"
            "    target = Int32(mT[row])\n    m, s = -Float32.inf, Float32(0.0)\n",
        "        m_new = cute.arch.fmax(m, value)\n":
            "        if n == target:\n            sX[0] = value\n        m_new = cute.arch.fmax(m, value)\n",
        "        loss, target = Float32(0.0), Int32(mT[row])\n": "        loss = Float32(0.0)\n",
        "mX[row, target].to(Float32)": "sX[0]",
    }),
    Wrong("four lanes merge", {
        "    if tidx == 0:\n"
        "        m = cute.arch.fmax(cute.arch.fmax(sM[0], sM[1]), cute.arch.fmax(sM[2], sM[3]))\n"
        "        s = Float32(0.0)\n        for w in cutlass.range_constexpr(4):\n"
        "            s += sS[w] * cute.math.exp(sM[w] - m, fastmath=True)\n":
            "    part = sM[tidx % 4]\n"
            "    m = cute.arch.warp_reduction_max(part, threads_in_group=4)\n"
            "    s = sS[tidx % 4] * cute.math.exp(part - m, fastmath=True)\n"
            "    s = cute.arch.warp_reduction_sum(s, threads_in_group=4)\n    if tidx == 0:\n",
    }),
)  # fmt: skip
