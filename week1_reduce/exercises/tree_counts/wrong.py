"""Wrong solutions to week1/tree_counts."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one round too few", {'block": 9': 'block": 8'}, "twice as many threads need one more round"),
    Wrong("one barrier too many", {'block": 9': 'block": 10'}, "reads only its own word"),
    Wrong("a barrier per thread", {'block": 9': 'block": 512'}, "however many threads there are"),
)  # fmt: skip
