"""Wrong answers to week2/overflows."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one too few", {"to inf\": 9": "to inf\": 8"}, "still below 65,504"),
    Wrong("a half each", {"[-200, -200]\": \"nan\"": "[-200, -200]\": 0.5"}, "What is exp(-200)"),
    Wrong("the weight of the 100", {"100 in [0, 100]\": \"nan\"": "100 in [0, 100]\": 1"}, "the exact weight rounds to 1"),
    Wrong("all NaN", {"0 in [0, 100]\": 0": "0 in [0, 100]\": \"nan\""}, "what is 1/inf?"),
)  # fmt: skip
