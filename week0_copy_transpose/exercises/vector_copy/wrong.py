"""Wrong solutions of week0/vector_copy."""

from forgekit.lessons.wrong import Wrong

_VECTOR = "gY[(None, i)].store(gX[(None, i)].load())"
_REST = """    if i < n % vec:
        mY[n // vec * vec + i] = mX[n // vec * vec + i]
"""

WRONG = (
    Wrong("no predicate for the tail", {"i < n // vec": "i < cute.size(gX, mode=[1])"},
          "hangs over the end"),
    Wrong("one vector too many", {"i < n // vec:": "i <= n // vec:"},
          "not the number of whole vectors"),
    Wrong("shifted", {"gX[(None, i)].load()": "gX[(None, i + 1)].load()"},
          "thread i reaches vector i + 1"),
    Wrong("a predicate for more", {"if i < n % vec": "if i < n"}, "and there are n % vec"),
    Wrong("a fixed grid", {"grid=(blocks": "grid=(64"}, "their number follows from the length"),
    Wrong("one block for all",
          {"    i = bidx * 128 + tidx\n": "    i = tidx\n", "grid=(blocks": "grid=(1",
           f"    if i < n // vec:\n        {_VECTOR}":
           "    for j in range(i, n // vec, 128):\n        gY[(None, j)].store(gX[(None, j)].load())"},
          "has to grow with the length"),
    Wrong("a block for 128 elements",
          {"cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128)": "cute.ceil_div(mX.shape[0], 128)"},
          "Threads launched: 100,096 with 100003 elements"),
    Wrong("shared memory for nothing",
          {"    n = mX.shape[0]\n": "    n = mX.shape[0]\n    smem = cutlass.memory.SmemAllocator()\n"
           "    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(20_000), 16)\n"
           "    sX[tidx] = cutlass.Float32(0)\n"},
          "Bytes of shared memory a block: 80,000"),
    Wrong("rest forgotten", {_REST: ""}, "nobody copies"),
    Wrong("rest from the front", {"mX[n // vec * vec + i]": "mX[n // vec + i]"},
          "read from the wrong place"),
    Wrong("rest off by one", {"mX[n // vec * vec + i]": "mX[n // vec * vec + i + 1]"},
          "the first is number"),
    Wrong("one of the rest", {"if i < n % vec:": "if i < n % vec and i == 0:"}, "only the first"),
    Wrong(
        "one by one",
        {f"        {_VECTOR}": "        for k in range(vec):\n            mY[i * vec + k] = "
         "mX[i * vec + k]"},
        "an instruction of its own",
    ),
    Wrong(
        "always four",
        {"    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes":
         "    vec = 4",
         "    vec = cutlass.const_expr(128 // mX.element_type.width)\n    blocks": "    vec = 4\n"
         "    blocks"},
        "half its width",
    ),
    Wrong("vectors counted in fours", {"if i < n // vec:": "if i < n // 4:"},
          "a vector of float16 has 8 elements, not 4"),
    Wrong("rest to the wrong index",
          {_REST: _REST.replace("n // vec * vec", "n // vec")},
          "or copies them to the wrong index"),
    Wrong(
        "rest in every thread",
        {_REST: "    for r in range(n % vec):\n"
         "        mY[n // vec * vec + r] = mX[n // vec * vec + r]\n"},
        "the rest is copied by every thread",
    ),
    Wrong(
        "rest in every block",
        {"if i < n % vec:\n        mY[n // vec * vec + i] = mX[n // vec * vec + i]":
         "if tidx < n % vec:\n        mY[n // vec * vec + tidx] = mX[n // vec * vec + tidx]"},
        "one block's work",
    ),
)  # fmt: skip
