"""Wrong answers of week2/which_survive."""

from forgekit.lessons.wrong import Wrong

OTHER = {"right": "NaN", "NaN": "right"}


def wrong(name: str, question: str, word: str, says: str) -> Wrong:
    """The other word at this question."""
    return Wrong(name, {f'"{question}": "{word}"': f'"{question}": "{OTHER[word]}"'}, says)


WRONG = (
    wrong("the mean of [1000, 1001]", "the mean: [1000, 1001]", "right", "both exponents are small"),
    wrong("the mean of [0, 0, 0, 0, 500]", "the mean: [0, 0, 0, 0, 500]", "NaN", "400 is left above it"),
    wrong("the mean of [-inf, 0]", "the mean: [-inf, 0]", "NaN", "with -inf in it is -inf"),
    wrong("the first element of [500, 0, 0]", "the first element: [500, 0, 0]", "right", "happens to be the largest"),
    wrong("the first element of [-inf, 0, 0]", "the first element: [-inf, 0, 0]", "NaN", "0 - (-inf) is inf"),
    wrong("the smallest of [-1000, -1001]", "the smallest: [-1000, -1001]", "right", "0 and 1 are left"),
    wrong("the largest, or 0 if that is larger of [-1000, -1001]", "the largest, or 0 if that is larger: [-1000, -1001]", "NaN", "a maximum that begins at 0 does"),
    wrong("the largest, or 0 if that is larger of [-inf, 0]", "the largest, or 0 if that is larger: [-inf, 0]", "right", "the largest is 0"),
    wrong("the largest minus 50 of [1000, 1001]", "the largest minus 50: [1000, 1001]", "right", "far from the end"),
    wrong("the largest of the whole matrix of row [0, 1], below it [1000, 1001]", "the largest of the whole matrix: row [0, 1], below it [1000, 1001]", "NaN", "1,001 is subtracted"),
    Wrong("another word", {'"the mean: [1000, 1001]": "right"': '"the mean: [1000, 1001]": "yes"'},
          "is not one of"),
)  # fmt: skip
