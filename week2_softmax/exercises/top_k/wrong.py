"""Wrong solutions to week2/top_k."""

from forgekit.lessons.wrong import Wrong

BETTER = "if value > v or (value == v and index < i):"
MERGE = """            v = [cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step) for k in range(4)]
            i = [cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step) for k in range(4)]
            for k in cutlass.range_constexpr(4):
                insert(rV, rI, v[k], i[k])
"""
ONE_BY_ONE = """            for k in cutlass.range_constexpr(4):
                v = cute.arch.shuffle_sync_bfly(rV[k], offset=1 << step)
                i = cute.arch.shuffle_sync_bfly(rI[k], offset=1 << step)
                insert(rV, rI, v, i)
"""
DISPLACED = "            value, index = v, i\n"

WRONG = (
    Wrong("ties as they come", {BETTER: "if value > v:"}, "among equal elements"),
    Wrong("identity's index 0", {"rI.fill(2**31 - 1)": "rI.fill(-1)"}, "an index belongs to no element"),
    Wrong("displaced pair dropped", {DISPLACED: ""}, "Does a displaced pair move on"),
    Wrong("displaced index forgotten", {DISPLACED: "            value = v\n"}, "got 5, expected 0"),
    Wrong("ordered by bits", {"        if value > v or (value == v and index < i):\n": """        a, b = value.bitcast(Int32), v.bitcast(Int32)
        a, b = a ^ ((a >> 31) & 0x7FFFFFFF), b ^ ((b >> 31) & 0x7FFFFFFF)
        if a > b or (a == b and index < i):
"""}, "does not put the first one first"),
    Wrong("merged one by one", {MERGE: ONE_BY_ONE}, "got 3, expected -1"),
    Wrong("the first stored four times", {"mV[row, k] = rV[k]": "mV[row, k] = rV[0]"}, "is each of the four stored"),
    Wrong("smallest", {BETTER: "if value < v or (value == v and index < i):", "-Float32.inf": "Float32.inf"}, "the values are the smallest"),
    Wrong("columns of 16 bits", {"mI[row, k] = rI[k]": "mI[row, k] = rI[k].to(cutlass.Int16).to(Int32)"}, "got 62* 63* 61* 37"),
    Wrong("every lane stores", {"        if lane == 0:": "        if lane >= 0:"}, "stored more than once"),
    Wrong("500 columns", {
        "range(lane, mX.shape[1], 32)": "range(lane, cutlass.min(mX.shape[1], 500), 32)"},
        "WRONG mV: 4 of 4 elements differ"),
    Wrong("filled with index 0", {"rI.fill(2**31 - 1)": "rI.fill(0)"}, "a wrong index is 0"),
    Wrong(
        "columns of 15 bits",
        {"mI[row, k] = rI[k]": "mI[row, k] = rI[k] & 0x7FFF"},
        "3 of 4 elements differ (75 %, int32)",
    ),
    Wrong(
        "32,768 columns",
        {"range(lane, mX.shape[1], 32)": "range(lane, cutlass.min(mX.shape[1], 32768), 32)"},
        "got 23* 22* 21* 20*",
    ),
    Wrong(
        "at most 2,048 blocks",
        {"    blocks = cute.ceil_div(mX.shape[0], 4)": "    blocks = cutlass.min(cute.ceil_div(mX.shape[0], 4), 2048)"},
        "With m = 90,000",
    ),
    Wrong("-inf never inserted", {"            insert(rV, rI, mX[row, n], n)": "            if mX[row, n] > -Float32.inf:\n                insert(rV, rI, mX[row, n], n)"},
          "Insert elements of −∞ too"),
    Wrong("offsets of 1, 2, 3, 4 and 5", {"(rV[k], offset=1 << step": "(rV[k], offset=1 + step", "(rI[k], offset=1 << step": "(rI[k], offset=1 + step"}, "is no pair inserted twice"),
    Wrong("values read again", {"mV[row, k] = rV[k]": "mV[row, k] = mX[row, rI[k]]"}, "elements of mX more than once"),
)  # fmt: skip

EQUIVALENT = {
    "line 6: < is <=": "no two pairs are equal but those of no element, which may change places"
}
