"""Wrong solutions to week0/every_kth."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong(
        "one element per thread",
        {
            "if cutlass.const_expr(k < vec):": "if cutlass.const_expr(False):",
            "cutlass.const_expr(max(k, vec))": "k",
        },
        "Bytes per load (mean, weighted by bytes): 2",
    ),
    Wrong(
        "the first ones",
        {"rX[v * k]": "rX[v]", "mX[i, j * k]": "mX[i, j]"},
        "the first elements of each vector",
    ),
    Wrong(
        "vectors for k = 2 alone",
        {
            "k < vec": "k == 2",
            "cutlass.const_expr(max(k, vec))": "cutlass.const_expr(vec if k == 2 else k)",
        },
        "k = 4, float16; the task asks for 16 bytes per load",
    ),
    Wrong(
        "no vectors in float32",
        {
            "k < vec": "k < vec and vec == 8",
            "cutlass.const_expr(max(k, vec))": "cutlass.const_expr(max(k, vec) if vec == 8 else k)",
        },
        "k = 2, float32; the task asks for 16 bytes per load",
    ),
    Wrong("from the second", {"rX[v * k]": "rX[v * k + 1]"}, "one column too far right"),
    Wrong(
        "the last of each",
        {"rX[v * k]": "rX[v * k + k - 1]", "mX[i, j * k]": "mX[i, j * k + k - 1]"},
        "the last of each k columns",
    ),
    Wrong("always 2", {"rX[v * k]": "rX[v * 2]"}, "the step is 2 instead of k"),
    Wrong(
        "stored one by one",
        {
            "rY[v] = rX[v * k]": "mY[i, j * (vec // k) + v] = rX[v * k]",
            "            cute.autovec_copy(rY, gY[(0, None), (i, j)])\n": "",
        },
        "touches 3.88 sectors on average where",
    ),
    Wrong(
        "vectors at any price",
        {
            "cutlass.const_expr(k < vec)": "cutlass.const_expr(True)",
            "cutlass.const_expr(max(k, vec))": "vec",
        },
        "failed to perform a valid division",
    ),
    Wrong(
        "k up to 1,024",
        {"mX[i, j * k]": "mX[i, j * min(k, 1024)]"},
        "k = 65,536, float32, the result is wrong",
    ),
    Wrong(
        "at most 256 blocks in x",
        {"cute.ceil_div(columns, 32)": "cutlass.min(cute.ceil_div(columns, 32), 256)"},
        "mY[0, 16384]",
    ),
    Wrong(
        "a grid of vectors for every k",
        {
            "cutlass.const_expr(max(k, vec))": "cutlass.const_expr(vec)",
        },
        "Threads launched: 16,384",
    ),
    Wrong(
        "vectors in whole blocks alone",
        {
            "            cute.autovec_copy(gX[(0, None), (i, j)], rX)\n": "            if by * 8 + 8 <= mX.shape[0] and bx * 32 + 32 <= mX.shape[1] // vec:\n                cute.autovec_copy(gX[(0, None), (i, j)], rX)\n"
            "            else:\n                for v in cutlass.range_constexpr(vec // k):\n                    rX[v * k] = mX[i, j * vec + v * k]\n"
        },
        "with m = 20, n = 400, k = 4, float16; the task asks for",
    ),
    Wrong(
        "at most 512 columns for a large k",
        {
            "elif i < mY.shape[0] and j < mY.shape[1]:": "elif i < mY.shape[0] and j < min(mY.shape[1], 512):"
        },
        "m = 2, n = 5,120, k = 8, float",
    ),
)
