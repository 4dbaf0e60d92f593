"""Wrong answers to week2/which_survive."""

from forgekit.lessons.wrong import Wrong

OTHER = {"right": "NaN", "NaN": "right"}


def wrong(name: str, question: str, word: str, says: str) -> Wrong:
    """Make a wrong solution with the other word at this question."""
    return Wrong(name, {f'"{question}": "{word}"': f'"{question}": "{OTHER[word]}"'}, says)


WRONG = (
    wrong("the mean of [1000, 1001]", "the mean: [1000, 1001]", "right", "both exponents are small"),
    wrong("the mean of [0, 0, 0, 0, 500]", "the mean: [0, 0, 0, 0, 500]", "NaN", "400 above it"),
    Wrong("another word", {'"the mean: [1000, 1001]": "right"': '"the mean: [1000, 1001]": "yes"'},
          "is not one of"),
)  # fmt: skip
