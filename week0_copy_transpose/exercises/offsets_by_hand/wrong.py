"""Wrong answers to week0/offsets_by_hand; `test_layout_mistakes.py` has all misconceptions about a
single offset."""

from forgekit.lessons.wrong import Wrong

WRONG = (
    Wrong("from the right", {"(2, 3): 11": "(2, 3): 22"}, "fastest, but you began on the right"),
    Wrong("an index", {"7: 8": "7: 7"}, "a linear index is not an offset"),
    Wrong("added", {"(1, 0): 2": "(1, 0): 1"}, "multiply each by its stride first"),
    Wrong("turned", {"(1, (0, 2)): 14": "(1, (0, 2)): 4"}, "the first index goes with the first"),
    Wrong("mode 1 alone", {"(1, (0, 2)): 14": "(1, (0, 2)): 12"}, "mode 1 alone; add the row"),
    Wrong("not a number", {"7: 8": "7: (1, 2)"}, "write one whole number"),
    Wrong("one left out", {"    7: 8,\n": ""}, "The coordinate 7 is missing"),
)
