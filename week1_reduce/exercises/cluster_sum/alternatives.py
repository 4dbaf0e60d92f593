"""Other right solutions of week1/cluster_sum."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("each warp sends its sum", {"    sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)\n": "", "cute.make_layout(4), 16)\n    cute": "cute.make_layout(16), 16)\n    cute",
          "    if tidx % 32 == 0:\n        sSum[tidx // 32] = total\n    cute.arch.sync_threads()\n": "",
          "    if tidx == 0:\n        total = sSum[0] + sSum[1] + sSum[2] + sSum[3]\n        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0)":
          "    if tidx % 32 == 0:\n        cute.arch.map_dsmem_ptr(sPart.iterator + rank * 4 + tidx // 32, 0)",
          "    if rank == 0 and tidx == 0:\n        mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]": "    if rank == 0 and tidx == 0:\n        total = Float32(0.0)\n"
          "        for k in cutlass.range_constexpr(16):\n            total += sPart[k]\n        mY[row] = total"}),
    Wrong("block 3 adds", {
        "sPart.iterator + rank, 0)": "sPart.iterator + rank, 3)",
        "if rank == 0 and tidx == 0:\n        mY": "if rank == 3 and tidx == 0:\n        mY",
    }),
)  # fmt: skip
