"""Wrong solutions to week2/merge_lanes."""

from forgekit.lessons.wrong import Wrong

OWN = "            s *= cute.math.exp(m - shift, fastmath=True)\n"
OTHER = "            s += other_s * cute.math.exp(other_m - shift, fastmath=True)\n"
GUARD = "shift = Float32(0.0) if both == -Float32.inf else both"
SHUFFLE_M = "            other_m = cute.arch.shuffle_sync_bfly(m, offset=16 >> k)\n"
SHUFFLE_S = "            other_s = cute.arch.shuffle_sync_bfly(s, offset=16 >> k)\n"

WRONG = (
    Wrong("guarded after the loop only", {
        "            shift = Float32(0.0) if both == -Float32.inf else both\n": "            shift = both\n",
        "        if lane == 0:\n": "        if m == -Float32.inf:\n            s = Float32(0.0)\n        if lane == 0:\n",
    }, "With rows = 3, float32"),
    Wrong("sums added as they are", {OWN: "", OTHER: "            s += other_s\n"}, "added without rescaling"),
    Wrong("no guard", {GUARD: "shift = both"}, "NaN comes from inf - inf"),
    Wrong("no shuffles", {"range_constexpr(5)": "range_constexpr(0)"}, "never reach it"),
    Wrong("maximum alone", {OWN: "", OTHER: ""}, "still that of lane 0"),
    Wrong("shuffled after the maximum has changed", {
        SHUFFLE_S: "            both = cute.arch.fmax(m, other_m)\n            m = both\n" + SHUFFLE_S,
        SHUFFLE_M: SHUFFLE_M, "            both = cute.arch.fmax(m, other_m)\n            shift":
        "            shift"}, "the result is wrong"),
    Wrong("every lane stores", {"        if lane == 0:": "        if lane >= 0:"}, "writes another value there"),
    Wrong("at least -1e38 is subtracted", {GUARD: "shift = cute.arch.fmax(both, Float32(-1e38))"}, "With rows = 8, float32, the result is wrong"),
    Wrong("at most 1e4 is subtracted", {GUARD: "shift = Float32(0.0) if both == -Float32.inf else cute.arch.fmin(both, Float32(1e4))"},
          "Inf: 2 in actual"),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "only 16 of the 32 lanes"),
)  # fmt: skip
