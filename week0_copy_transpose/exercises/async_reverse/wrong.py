"""Wrong solutions to week0/async_reverse."""

from forgekit.lessons.wrong import Wrong

_COPY = "cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])"
_COMMIT = "    cute.arch.cp_async_commit_group()\n"
_WAIT = "    cute.arch.cp_async_wait_group(0)\n"
_BARRIER = "    cute.arch.sync_threads()\n"

WRONG = (
    Wrong(
        "every vector copied twice",
        {
            "        cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])\n": "        for _ in cutlass.range_constexpr(2):\n            cute.copy(atom, gX[(None, tidx)], sX[(None, tidx)])\n"
        },
        "two copies to the same place are in flight",
    ),
    Wrong("no wait", {_WAIT: ""}, "no thread waits"),
    Wrong("no commit", {_COMMIT: ""}, "these copies are in no group"),
    Wrong("one group may be open", {"wait_group(0)": "wait_group(1)"}, "allows that many"),
    Wrong(
        "wait before the commit",
        {_COMMIT + _WAIT: _WAIT + _COMMIT},
        "the order must be copy, commit, wait",
    ),
    Wrong(
        "one thread waits",
        {_WAIT: "    if tidx == 0:\n    " + _WAIT},
        "Every thread that copies must wait before the barrier",
    ),
    Wrong("no barrier", {_BARRIER: ""}, "so it needs a barrier"),
    Wrong("neither wait nor barrier", {_WAIT + _BARRIER: ""}, "All threads must first wait"),
    Wrong(
        "barrier before wait", {_WAIT + _BARRIER: _BARRIER + _WAIT}, "must first wait and then meet"
    ),
    Wrong(
        "no predicate",
        {"if tidx < n // vec:": "if tidx >= 0:"},
        "beyond the end of the row also copy",
    ),
    Wrong(
        "barrier within the if",
        {_COMMIT + _WAIT + _BARRIER: "    " + _COMMIT + "    " + _WAIT + "    " + _BARRIER},
        "inside the `if`",
    ),
    Wrong(
        "through registers",
        {_COPY: "sX[(None, tidx)].store(gX[(None, tidx)].load())"},
        "load elements into registers",
    ),
    Wrong("half as wide", {"num_bits_per_copy=128": "num_bits_per_copy=64"}, "vectors of 16 bytes"),
    Wrong("off by one", {"sRow[n - 1 - j]": "sRow[n - j]"}, "reads outside the row"),
    Wrong(
        "to the next place",
        {"sX[(None, tidx)])": "sX[(None, tidx + 1)])"},
        "the copy's destination in shared memory",
    ),
    Wrong(
        "one thread copies",
        {
            f"if tidx < n // vec:\n        {_COPY}": "if tidx == 0:\n        for v in range(n // vec):\n"
            "            cute.copy(atom, gX[(None, v)], sX[(None, v)])"
        },
        "each request copies at most 16 bytes",
    ),
    Wrong(
        "every thread copies all",
        {
            f"if tidx < n // vec:\n        {_COPY}": "for v in range(n // vec):\n        cute.copy(atom, gX[(None, v)], sX[(None, v)])"
        },
        "more than one thread copies to the same location",
    ),
    Wrong(
        "the first vector by all",
        {_COPY: f"{_COPY}\n        cute.copy(atom, gX[(None, 0)], sX[(None, 0)])"},
        "each vector belongs to one thread",
    ),
    Wrong(
        "a doubled grid", {"grid=(mX.shape[0],": "grid=(2 * mX.shape[0],"}, "more blocks than rows"
    ),
    Wrong("rows by thread", {"mX[(bidx, None)]": "mX[(tidx, None)]"}, "copies from mX[2, 8]"),
    Wrong("five barriers", {_BARRIER: 5 * _BARRIER}, "asks for at most 1 barrier"),
    Wrong(
        "no barrier for short rows",
        {_BARRIER: "    if n > 32:\n    " + _BARRIER},
        "With 2×8 float32, the sanitizer",
    ),
    Wrong(
        "asynchronous in float32 alone",
        {
            "        "
            + _COPY: f"        if cutlass.const_expr(vec == 4):\n            {_COPY}\n        else:\n"
            "            sX[(None, tidx)].store(gX[(None, tidx)].load())"
        },
        "Loads into registers: 8 with 4×512 float16",
    ),
    Wrong(
        "whole warps asynchronous, the others through registers",
        {
            f"    if tidx < n // vec:\n        {_COPY}": f"    if tidx < n // vec // 32 * 32:\n        {_COPY}\n    elif tidx < n // vec:\n"
            "        sX[(None, tidx)].store(gX[(None, tidx)].load())"
        },
        "Loads into registers: 3 with 3×104 float32",
    ),
    Wrong(
        "fewer than eight vectors through registers",
        {
            f"        {_COPY}": f"        if n // vec >= 8:\n            {_COPY}\n        else:\n"
            "            sX[(None, tidx)].store(gX[(None, tidx)].load())"
        },
        "Loads into registers: 2 with 2×8 float16",
    ),
    Wrong("copies", {"sRow[n - 1 - j]": "sRow[j]"}, "but not reversed"),
)
