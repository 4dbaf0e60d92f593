"""Wrong solutions of week2/rotary."""

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
ELEMENTS = """        for j in range(lane, 2 * half, 32):
            cos, sin = mCos[token, j % half], mSin[token, j % half]
            for h in range(mX.shape[1]):
                other = mX[token, h, (j + half) % (2 * half)].to(Float32)
                if j < half:
                    other = -other
                y = mX[token, h, j].to(Float32) * cos + other * sin
                mX[token, h, j] = y.to(mX.element_type)
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
          "as it is after its turn"),
    Wrong("an element a lane", {BODY: ELEMENTS}, "143 of 384 elements"),
    Wrong("angles of token 0", {TABLES: TABLES.replace("token", "0")}, "the angles of token 0"),
    Wrong("tables of the row of heads", {TABLES: "", HEADS: HEADS + TABLES.replace("cos, sin",
          "    cos, sin").replace("token", "token * mX.shape[1] + h")}, "reads mCos[4, 0]"),
    Wrong("tables in the inner loop", {BODY: """        for p in range(lane, half * mX.shape[1], 32):
            h, j = p // half, p % half
            cos, sin = mCos[token, j], mSin[token, j]
            a, b = mX[token, h, j].to(Float32), mX[token, h, j + half].to(Float32)
            mX[token, h, j] = (a * cos - b * sin).to(mX.element_type)
            mX[token, h, j + half] = (b * cos + a * sin).to(mX.element_type)
"""}, "Sectors loaded: 160"),
    Wrong("one head", {HEADS: HEADS.replace("mX.shape[1]", "1")}, "only head 0 has turned"),
    Wrong("one pair a lane", {"for j in range(lane, half, 32):": "if lane < half:\n            j = lane"},
          "only the first 32 pairs"),
    Wrong("no predicate", {"if token < mX.shape[0]:": "if token >= 0:"}, "reads mCos[2, 0]"),
    Wrong("blocks rounded down", {GRID: "mX.shape[0] // 4"}, "use cute.ceil_div for the grid"),
    Wrong("a block a token", {GRID: "mX.shape[0]", "bidx * 4 + tidx // 32, tidx % 32": "bidx, tidx % 32"},
          "belongs to one thread alone"),
    Wrong("a lane a token", {"bidx * 4 + tidx // 32, tidx % 32": "bidx * 128 + tidx, 0",
          "range(lane, half, 32)": "range(half)", GRID: "cute.ceil_div(mX.shape[0], 128)"}, "as long for one lane"),
)  # fmt: skip
