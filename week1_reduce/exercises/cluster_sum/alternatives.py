"""Other correct solutions to week1/cluster_sum."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("each warp sends its sum", {"    sSum = smem.allocate_tensor(Float32, cute.make_layout(4), 16)\n": "", "cute.make_layout(4), 16)\n    cute": "cute.make_layout(16), 16)\n    cute",
          "    if tidx % 32 == 0:\n        sSum[tidx // 32] = total\n    cute.arch.sync_threads()\n": "",
          "    if tidx == 0:\n        total = sSum[0] + sSum[1] + sSum[2] + sSum[3]\n        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0)":
          "    if tidx % 32 == 0:\n        cute.arch.map_dsmem_ptr(sPart.iterator + rank * 4 + tidx // 32, 0)",
          "    if rank == 0 and tidx == 0:\n        mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]": "    if rank == 0 and tidx == 0:\n        total = Float32(0.0)\n"
          "        for k in cutlass.range_constexpr(16):\n            total += sPart[k]\n        mY[row] = total"}),
    Wrong("the first arrival releases nothing", {"    cute.arch.cluster_arrive()\n    total":
                                                 "    cute.arch.cluster_arrive_relaxed()\n    total"}),
    Wrong("block 3 adds", {
        "sPart.iterator + rank, 0)": "sPart.iterator + rank, 3)",
        "if rank == 0 and tidx == 0:\n        mY": "if rank == 3 and tidx == 0:\n        mY",
    }),
    Wrong("a quarter of the row per block", {
        "range(rank * 128 + tidx, mX.shape[1], 512)":
            "range(rank * share + tidx, min((rank + 1) * share, mX.shape[1]), 128)",
        "    total = Float32(0.0)\n": "    total = Float32(0.0)\n    share = cute.ceil_div(mX.shape[1], 4)\n",
    }),
    Wrong("the last block takes the first columns", {"range(rank * 128": "range((3 - rank) * 128"}),
    Wrong("block 0 reads the sums of the others", {
        "    cute.arch.cluster_arrive()\n    total = Float32": "    total = Float32",
        "    cute.arch.sync_threads()\n    cute.arch.cluster_wait()\n": "    cute.arch.sync_threads()\n",
        "        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)\n": "        sPart[0] = total\n",
        "        mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]":
            "        total = Float32(0.0)\n        for k in cutlass.range_constexpr(4):\n"
            "            total += cute.arch.map_dsmem_ptr(sPart.iterator, k).load()\n"
            "        mY[row] = total\n    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()",
    }),
)  # fmt: skip
