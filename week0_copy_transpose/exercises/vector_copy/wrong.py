"""Wrong solutions to week0/vector_copy."""

from forgekit.lessons.wrong import Wrong

_VECTOR = "gY[(None, i)].store(gX[(None, i)].load())"
_REST = """    if i < n % vec:
        mY[n // vec * vec + i] = mX[n // vec * vec + i]
"""

WRONG = (
    Wrong("no predicate for the tail", {"i < n // vec": "i < cute.size(gX, mode=[1])"},
          "extends past the end"),
    Wrong("rest of eight in any type", {"if i < n % vec:": "if i < n % 8:"}, "reads mX[1005], up to 4 bytes past the tensor's end."),
    Wrong("shifted", {"gX[(None, i)].load()": "gX[(None, i + 1)].load()"},
          "thread i accesses vector i + 1"),
    Wrong("a predicate for more", {"if i < n % vec": "if i < n"}, "there are n % vec of them"),
    Wrong("a fixed grid", {"grid=(blocks": "grid=(64"}, "elements of mY, all in"),
    Wrong("rest forgotten", {_REST: ""}, "no thread stores the elements after the last whole vector"),
    Wrong("rest from the front", {"mX[n // vec * vec + i]": "mX[n // vec + i]"},
          "hold those that begin at element n // vec of x"),
    Wrong("one of the rest", {"if i < n % vec:": "if i < n % vec and i == 0:"}, "only the first of the remaining"),
    Wrong(
        "one by one",
        {f"        {_VECTOR}": "        for k in range(vec):\n            mY[i * vec + k] = "
         "mX[i * vec + k]"},
        "each element has its own instruction",
    ),
    Wrong(
        "always four",
        {"    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes":
         "    vec = 4",
         "    vec = cutlass.const_expr(128 // mX.element_type.width)\n    blocks": "    vec = 4\n"
         "    blocks"},
        "have half the width",
    ),
    Wrong("vectors counted in fours", {"if i < n // vec:": "if i < n // 4:"},
          "or 8 of a 16-bit type"),
    Wrong(
        "rest in every thread",
        {_REST: "    for r in range(n % vec):\n"
         "        mY[n // vec * vec + r] = mX[n // vec * vec + r]\n"},
        "every thread copies the remaining elements",
    ),
    Wrong(
        "rest in every block",
        {"if i < n % vec:\n        mY[n // vec * vec + i] = mX[n // vec * vec + i]":
         "if tidx < n % vec:\n        mY[n // vec * vec + tidx] = mX[n // vec * vec + tidx]"},
        "every block copies the remaining elements",
    ),
    Wrong("one lane of four", {"i = bidx * 128 + tidx": "i = (bidx * 128 + tidx) // 4 + tidx % 4 * n",
          "mX.shape[0], vec), 128)": "mX.shape[0], vec), 32)"}, "gY[(None, i)].store(gX[(None, i)].load()) [ ] Whole vectors"),
    Wrong("blocks overlap", {"bidx * 128 + tidx": "bidx * 127 + tidx"}, "elements of mY, all in elements"),
    Wrong("at most 1,024 blocks", {"blocks = cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128)":
                                   "blocks = cutlass.min(cute.ceil_div(cute.ceil_div(mX.shape[0], vec), 128), 1024)"},
          "With 1048576 elements"),
    Wrong("the last whole vector with the rest, if there is one", {
        "    if i < n // vec:\n        gY[(None, i)].store(gX[(None, i)].load())\n    if i < n % vec:\n        mY[n // vec * vec + i] = mX[n // vec * vec + i]\n": "    whole = n // vec\n    if n % vec > 0:\n        whole = max(whole - 1, 0)\n    if i < whole:\n        gY[(None, i)].store(gX[(None, i)].load())\n    if i < n - whole * vec:\n        mY[whole * vec + i] = mX[whole * vec + i]\n",
    }, "15.8 with 503 elements of float32"),
    Wrong("the last block copies elements, unless all vectors are whole", {
        "    if i < n // vec:\n        gY[(None, i)].store(gX[(None, i)].load())\n    if i < n % vec:\n        mY[n // vec * vec + i] = mX[n // vec * vec + i]\n": "    last = n // (128 * vec)\n    if bidx < last or n % vec == 0:\n        if i < n // vec:\n            gY[(None, i)].store(gX[(None, i)].load())\n    else:\n        for k in cutlass.range_constexpr(vec):\n            j = last * 128 * vec + k * 128 + tidx\n            if j < n:\n                mY[j] = mX[j]\n",
    }, "): 4 with 503 elements of float32"),
    Wrong("eight elements in Float16 alone", {
        "    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 16 bytes":
            "    vec = 8 if mX.element_type == cutlass.Float16 else 4",
        "    vec = cutlass.const_expr(128 // mX.element_type.width)\n    blocks":
            "    vec = 8 if mX.element_type == cutlass.Float16 else 4\n    blocks",
    }, "with 4099 elements of bfloat16"),
)  # fmt: skip
