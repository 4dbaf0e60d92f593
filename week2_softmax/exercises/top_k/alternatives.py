"""Other correct solutions to week2/top_k."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("eight rows per block", {
        "bidx * 4 + tidx // 32": "bidx * 8 + tidx // 32",
        "shape[0], 4)": "shape[0], 8)",
        "(128, 1, 1)": "(256, 1, 1)",
    }),
    Wrong("the largest step first", {
        "v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step)":
            "v = [cute.arch.shuffle_sync_bfly(rV[k], offset=16 >> step)",
        "i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step)":
            "i = [cute.arch.shuffle_sync_bfly(rI[k], offset=16 >> step)",
    }),
    Wrong("the lower lanes alone merge", {
        "for n in range(lane, mX.shape[1], 32):": "for n in range(mX.shape[1] - 1 - lane, -1, -32):",
        "v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step)": "v = [cute.arch.shuffle_sync_down(rV[k], offset=16 >> step)",
        "i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step)": "i = [cute.arch.shuffle_sync_down(rI[k], offset=16 >> step)",
        "            for k in cutlass.range_constexpr(4):\n                insert(rV, rI, v[k], i[k])\n":
            "            if lane < 16 >> step:\n                for k in cutlass.range_constexpr(4):\n"
            "                    insert(rV, rI, v[k], i[k])\n",
    }),
)  # fmt: skip
