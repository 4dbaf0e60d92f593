"""Wrong solutions to week2/block_logsumexp."""

from forgekit.lessons.wrong import Wrong

LOG = "cute.math.log(s, fastmath=True)"
LANES = """    for k in cutlass.range_constexpr(5):
        other = tuple(cute.arch.shuffle_sync_bfly(v, offset=16 >> k) for v in (m, s))
        m, s = together((m, s), other)
"""
WARPS = LANES.replace("(5)", "(3)").replace("16 >> k", "4 >> k")
READ = "    m, s = sMax[tidx % 8], sSum[tidx % 8]\n"
BARRIER = "    cute.arch.sync_threads()\n"

WRONG = (
    Wrong("not added again", {f"(m + {LOG})": LOG}, "not added back to the logarithm"),
    Wrong("no logarithm", {f"(m + {LOG})": "(m + s)"}, "the logarithm is missing"),
    Wrong("an identity of -1e38", {"m, s = -Float32.inf, Float32(0.0)": "m, s = Float32(-1e38), Float32(0.0)"},
          "float32, the result is wrong"),
    Wrong("first warp alone", {READ: "", WARPS: ""}, "only the first warp's part"),
    Wrong("lanes not merged", {LANES: ""}, "the result is wrong"),
    Wrong("added up in the type of x", {"(mX[row, n].to(Float32), Float32(1.0)))\n":
          "(mX[row, n].to(Float32), Float32(1.0)))\n        s = s.to(mX.element_type).to(Float32)\n"}, "float16, the result is wrong"),
    Wrong("exponentials in the type of x", {"m, s = together((m, s), (mX[row, n].to(Float32), Float32(1.0)))": """x = mX[row, n].to(Float32)
        top = cute.arch.fmax(m, x)
        shift = Float32(0.0) if top == -Float32.inf else top
        e = cute.math.exp(x - shift, fastmath=True).to(mX.element_type).to(Float32)
        m, s = top, s * cute.math.exp(m - shift, fastmath=True) + e"""}, "n = 1,025, float16, the result"),
    Wrong("no barrier", {BARRIER: ""}, "Race in shared memory"),
    Wrong("begins with an element that it reads again", {"m, s = -Float32.inf, Float32(0.0)": "m, s = mX[row, cutlass.min(tidx, mX.shape[1] - 1)].to(Float32), Float32(0.0)"},
          "threads load 768 elements of mX more than once"),
    Wrong("four warps read the row", {"range(tidx, mX.shape[1], 256)": "range(tidx if tidx < 128 else mX.shape[1], mX.shape[1], 128)"},
          "Warps per block that share the loads: 4 with"),
    Wrong("seven warps read the row", {"range(tidx, mX.shape[1], 256)": "range(tidx if tidx < 224 else mX.shape[1], mX.shape[1], 224)"},
          "Warps per block that share the loads: 7 with m = 20, n = 2,000"),
    Wrong("two barriers", {BARRIER: BARRIER * 2}, "asks for at most 1 barrier"),
    Wrong("a barrier for the sizes tested alone", {BARRIER: "    if mX.shape[1] < 301 or mX.shape[1] % 500 == 0 or mX.shape[1] == 1025:\n    "
          + BARRIER}, "float32, the sanitizer reports an error"),
    Wrong("256 words", {"sMax = smem.allocate_tensor(Float32, cute.make_layout(8)": "sMax = smem.allocate_tensor(Float32, cute.make_layout(248)"},
          "at most 256 bytes of shared memory"),
    Wrong("short rows for warp 0 alone", {"    for n in range(tidx, mX.shape[1], 256):\n":
          "    step = 32 if mX.shape[1] <= 256 else 256\n    for n in range(tidx if tidx < step else mX.shape[1], mX.shape[1], step):\n"},
          "Warps per block that share the loads: 1 with m = 3, n = 250"),
)  # fmt: skip
