"""Wrong answers of week2/overflows."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one too few", {"is inf\": 9": "is inf\": 8"}, "still below 65,504"),
    Wrong("one too many", {"is inf\": 9": "is inf\": 10"}, "9 · 8,103 is more"),
    Wrong("as for 10", {"is inf\": 9": "is inf\": 3"}, "e is the factor"),
    Wrong("two of 88", {"is inf\": 3": "is inf\": 2"}, "is below 3.40"),
    Wrong("one of 88", {"is inf\": 3": "is inf\": 1"}, "the last whole number whose exponential"),
    Wrong("one element", {"finite\": 4": "finite\": 11"}, "a thousandth of 65,504"),
    Wrong("rounded up", {"finite\": 4": "finite\": 5"}, "e⁵ is 148"),
    Wrong("too careful", {"finite\": 4": "finite\": 3"}, "a thousand of them are 54,600"),
    Wrong("a half each", {"[-200, -200]\": \"nan\"": "[-200, -200]\": 0.5"}, "What is exp(-200)"),
    Wrong("0 each", {"[-200, -200]\": \"nan\"": "[-200, -200]\": 0"}, "what is 0/0?"),
    Wrong("all NaN", {"0 in [0, 100]\": 0": "0 in [0, 100]\": \"nan\""}, "what is 1/inf?"),
    Wrong("the real one", {"100 in [0, 100]\": \"nan\"": "100 in [0, 100]\": 1"}, "Here it is inf/inf"),
    Wrong("inf", {"100 in [0, 100]\": \"nan\"": "100 in [0, 100]\": \"inf\""}, "that is inf, too"),
    Wrong("low is lost", {"[0, -200]\": 0": "[0, -200]\": \"nan\""}, "the sum is 1"),
)  # fmt: skip
