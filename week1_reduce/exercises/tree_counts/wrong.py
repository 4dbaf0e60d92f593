"""Wrong solutions of week1/tree_counts."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("one round too few", {'block": 9': 'block": 8'}, "twice as many have one round more"),
    Wrong("one barrier too many", {'block": 9': 'block": 10'}, "reads what it has stored itself"),
    Wrong("a barrier a thread", {'block": 9': 'block": 512'}, "however many threads arrive"),
)  # fmt: skip
