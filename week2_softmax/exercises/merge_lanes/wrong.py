"""Wrong solutions of week2/merge_lanes."""

from forgekit.lessons.wrong import Wrong

OWN = "            s *= cute.math.exp(m - shift, fastmath=True)\n"
OTHER = "            s += other_s * cute.math.exp(other_m - shift, fastmath=True)\n"
GUARD = "shift = Float32(0.0) if both == -Float32.inf else both"
SHUFFLE_M = "            other_m = cute.arch.shuffle_sync_bfly(m, offset=16 >> k)\n"
SHUFFLE_S = "            other_s = cute.arch.shuffle_sync_bfly(s, offset=16 >> k)\n"

WRONG = (
    Wrong("sums added as they are", {OWN: "", OTHER: "            s += other_s\n"}, "added as they are"),
    Wrong("no guard", {GUARD: "shift = both"}, "only where no lane has seen anything"),
    Wrong("no shuffles", {"range_constexpr(5)": "range_constexpr(0)"}, "nothing reaches it"),
    Wrong("maximum alone", {OWN: "", OTHER: ""}, "still that of lane 0"),
    Wrong("own sum not rescaled", {OWN: ""}, "With rows = 3, float32 the result is wrong"),
    Wrong("the new maximum in the factor", {
        "            both = cute.arch.fmax(m, other_m)\n":
        "            both = cute.arch.fmax(m, other_m)\n            m = both\n"}, "worst relative difference"),
    Wrong("shuffled after the maximum has changed", {
        SHUFFLE_S: "            both = cute.arch.fmax(m, other_m)\n            m = both\n" + SHUFFLE_S,
        SHUFFLE_M: SHUFFLE_M, "            both = cute.arch.fmax(m, other_m)\n            shift":
        "            shift"}, "the result is wrong"),
    Wrong("four steps", {"range_constexpr(5)": "range_constexpr(4)"}, "first mismatches"),
    Wrong("a number in place of -inf", {GUARD: "shift = cute.arch.fmax(both, Float32(-80.0))"},
          "got 0, expected 1.932"),
    Wrong("no predicate on the row", {"    if row < mM.shape[0]:": "    if row >= 0:"}, "Out of bounds"),
    Wrong("every lane stores", {"        if lane == 0:": "        if lane >= 0:"}, "stored more than once"),
    Wrong("a block a row", {"cute.ceil_div(mM.shape[0], 8)": "mM.shape[0]"}, "Threads launched"),
)  # fmt: skip
