"""Other correct solutions to week0/rotate."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("barrier first", {
        "        sRow[tidx] = value\n        cute.arch.sync_threads()\n"
        "        value = sRow[(tidx + 1) % 64]\n        cute.arch.sync_threads()\n":
            "        cute.arch.sync_threads()\n        sRow[tidx] = value\n"
            "        cute.arch.sync_threads()\n        value = sRow[(tidx + 1) % 64]\n",
    }),
    Wrong("no barrier after the last round", {
        "    for _ in cutlass.range_constexpr(2):\n":
            "    for k in cutlass.range_constexpr(2):\n",
        "        sRow[tidx] = value\n        cute.arch.sync_threads()\n"
        "        value = sRow[(tidx + 1) % 64]\n        cute.arch.sync_threads()\n":
            "        sRow[tidx] = value\n        cute.arch.sync_threads()\n"
            "        value = sRow[(tidx + 1) % 64]\n        if cutlass.const_expr(k == 0):\n"
            "            cute.arch.sync_threads()\n",
    }),
    Wrong("two rows in turn", {
        "    for _ in cutlass.range_constexpr(2):\n":
            "    for k in cutlass.range_constexpr(2):\n",
        "make_layout(64)": "make_layout((64, 2))",
        "        sRow[tidx] = value\n        cute.arch.sync_threads()\n"
        "        value = sRow[(tidx + 1) % 64]\n        cute.arch.sync_threads()\n":
            "        sRow[tidx, k] = value\n        cute.arch.sync_threads()\n"
            "        value = sRow[(tidx + 1) % 64, k]\n",
    }),
    Wrong("a loop at run time", {
        "    for _ in cutlass.range_constexpr(2):\n":
            "    for _ in cutlass.range(2, unroll=1):\n",
    }),
    Wrong("written out", {
        "    for _ in cutlass.range_constexpr(2):\n        sRow[tidx] = value\n"
        "        cute.arch.sync_threads()\n        value = sRow[(tidx + 1) % 64]\n"
        "        cute.arch.sync_threads()\n":
            "    sRow[tidx] = value\n    cute.arch.sync_threads()\n"
            "    value = sRow[(tidx + 1) % 64]\n    cute.arch.sync_threads()\n"
            "    sRow[tidx] = value\n    cute.arch.sync_threads()\n"
            "    value = sRow[(tidx + 1) % 64]\n    cute.arch.sync_threads()\n",
    }),
    Wrong("a barrier with a number", {
        "64]\n        cute.arch.sync_threads()":
            "64]\n        cute.arch.barrier(barrier_id=1, number_of_threads=64)",
    }),
)  # fmt: skip
