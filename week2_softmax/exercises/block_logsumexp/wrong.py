"""Wrong solutions of week2/block_logsumexp."""

from forgekit.lessons.wrong import Wrong

LOG = "cute.math.log(s, fastmath=True)"
GUARD = "shift = Float32(0.0) if m == -Float32.inf else m"
LANES = """    for k in cutlass.range_constexpr(5):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s))
        m, s = together((m, s), other)
"""
WARPS = LANES.replace("(5)", "(3)").replace("16 >> k", "4 >> k")
READ = "    m, s = sMax[tidx % 8], sSum[tidx % 8]\n"
BARRIER = "    cute.arch.sync_threads()\n"
AGAIN = """    s, shift = Float32(0.0), Float32(0.0) if m == -Float32.inf else m
    for n in range(tidx, mX.shape[1], 256):
        s += cute.math.exp(mX[row, n].to(Float32) - shift, fastmath=True)
"""

WRONG = (
    Wrong("no guard", {GUARD: "shift = m"}, "has seen nothing but -inf"),
    Wrong("not added again", {f"(m + {LOG})": LOG}, "not added again to the logarithm"),
    Wrong("no logarithm", {f"(m + {LOG})": "(m + s)"}, "the logarithm is missing"),
    Wrong("an identity of -10,000", {"m, s = -Float32.inf, Float32(0.0)": "m, s = Float32(-1.0e4), Float32(0.0)"},
          "float32 the result is wrong"),
    Wrong("first warp alone", {READ: "", WARPS: ""}, "only what the first warp has seen"),
    Wrong("lanes not merged", {LANES: ""}, "the result is wrong"),
    Wrong("first sum not rescaled", {"s = a[1] * cute.math.exp(a[0] - shift, fastmath=True)": "s = a[1]"},
          "With m = 3, n = 5"),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("two barriers", {BARRIER: BARRIER * 2}, "Barriers that a warp arrives at"),
    Wrong("sums of 32 warps read", {"sMax[tidx % 8], sSum[tidx % 8]": "sMax[tidx % 32], sSum[tidx % 32]"},
          "reads 4 bytes at shared-memory offset 64"),
    Wrong("read twice", {LANES: AGAIN + LANES}, "Bytes that threads ask for in loads"),
    Wrong("every thread stores", {"    if tidx == 0:": "    if tidx >= 0:"}, "stored more than once"),
    Wrong("a fixed grid", {"grid=(mX.shape[0], 1, 1)": "grid=(64, 1, 1)"}, "Out of bounds"),
)  # fmt: skip
