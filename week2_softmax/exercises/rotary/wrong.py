"""Wrong solutions to week2/rotary."""

from forgekit.lessons.wrong import Wrong

LOAD = "a, b = mX[token, h, j].to(Float32), mX[token, h, j + half].to(Float32)"
FIRST = "mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)"
SECOND = "mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)"
TABLES = "            cos, sin = mCos[token, j], mSin[token, j]\n"
HEADS = "            for h in range(mX.shape[1]):\n"
BODY = f"""        for j in range(lane, half, 32):
{TABLES}{HEADS}                {LOAD}
                {FIRST}
                {SECOND}
"""
GRID = "cute.ceil_div(mX.shape[0], 4)"

WRONG = (
    Wrong("neighbours", {LOAD: LOAD.replace("j + half", "2 * j + 1").replace("h, j]", "h, 2 * j]"),
          FIRST: FIRST.replace("h, j]", "h, 2 * j]"), SECOND: SECOND.replace("j + half", "2 * j + 1")},
          "the other convention"),
    Wrong("turned back", {FIRST: FIRST.replace("-", "+"), SECOND: SECOND.replace("+ a", "- a")},
          "the signs of the two sines"),
    Wrong("one half", {f"                {SECOND}\n": ""}, "only the first half of each head"),
    Wrong("overwritten too early", {SECOND: SECOND.replace("a * sin", "mX[token, h, j].to(Float32) * sin")},
          "after its rotation"),
    Wrong("angles of token 0", {TABLES: TABLES.replace("token", "0")}, "the angles of token 0"),
    Wrong("tables in the inner loop", {BODY: """        for p in range(lane, half * mX.shape[1], 32):
            h, j = p // half, p % half
            cos, sin = mCos[token, j], mSin[token, j]
            a, b = mX[token, h, j].to(Float32), mX[token, h, j + half].to(Float32)
            mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)
            mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)
"""}, "Sectors loaded: 160"),
    Wrong("tables again for each 16 heads", {
        TABLES + HEADS: "            cos, sin = Float32(0.0), Float32(0.0)\n            for h in range(mX.shape[1]):\n"
                        "                if h % 16 == 0:\n                    cos, sin = mCos[token, j], mSin[token, j]\n"},
          "threads load 66 elements of mCos more than once"),
    Wrong("one head", {HEADS: HEADS.replace("mX.shape[1]", "1")}, "only head 0 is rotated"),
    Wrong("four heads", {HEADS: HEADS.replace("range(mX.shape[1])", "range(min(mX.shape[1], 4))")},
          "all mismatches are in every 5th row, starting at 4"),
    Wrong("one pair a lane", {"for j in range(lane, half, 32):": "if lane < half:\n            j = lane"},
          "only the first 32 pairs"),
    Wrong("a block a token", {GRID: "mX.shape[0]", "bidx * 4 + tidx // 32, tidx % 32": "bidx, tidx % 32"},
          "belong to one thread alone"),
    Wrong("rows in y of the grid", {"bidx, _, _ = cute.arch.block_idx()": "_, bidx, _ = cute.arch.block_idx()",
          "grid=(blocks, 1, 1)": "grid=(1, blocks, 1)"}, "got a grid of (1, 67650, 1) blocks"),
    Wrong("two warps do the work of four", {
        "    token, lane = bidx * 4 + tidx // 32, tidx % 32\n": "    first, lane = bidx * 4 + 2 * (tidx // 32), tidx % 32\n    if tidx < 64:\n        work(mX, mCos, mSin, first, lane)\n        work(mX, mCos, mSin, first + 1, lane)\n\n\n@cute.jit\ndef work(mX: cute.Tensor, mCos: cute.Tensor, mSin: cute.Tensor, token, lane):\n",
    }, "each warp must load exactly one whole share"),
)  # fmt: skip
