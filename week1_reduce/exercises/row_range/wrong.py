"""Wrong solutions of week1/row_range."""

from forgekit.lessons.wrong import Wrong

FIRST = "    high, low = -Float32.inf, Float32.inf\n    for"

WRONG = (
    Wrong("both begin at 0", {FIRST: "    high, low = Float32(0.0), Float32(0.0)\n    for"},
          "comes out as 0"),
    Wrong("exchanged", {"(high - low)": "(low - high)"}, "subtracted from the smallest"),
    Wrong("twice the largest", {"(high - low)": "(high - high)"}, "are the same"),
    Wrong("no barrier", {"    cute.arch.sync_threads()\n": ""}, "Race in shared memory"),
    Wrong("two barriers", {"    cute.arch.sync_threads()\n": "    cute.arch.sync_threads()\n" * 2},
          "at most 1 barrier"),
)  # fmt: skip

EQUIVALENT = {
    "line 15: no predicate": "after a butterfly all lanes store the same number, in one wavefront",
    "line 18: no predicate": "the other warps do the same in vain; thread 0 alone stores",
}
