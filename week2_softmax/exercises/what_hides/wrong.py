"""Wrong answers to week2/what_hides."""

from forgekit.lessons.wrong import Wrong


def wrong(question: str, right: str, word: str, says: str) -> Wrong:
    """Make a wrong solution with another word at this question."""
    return Wrong(
        f"{question}: {word}", {f'"{question}": "{right}"': f'"{question}": "{word}"'}, says
    )


WRONG = (
    wrong("the sum is not rescaled in the loop: 1,000 random elements, the first the largest", "wrong",
          "right", "lane 0 starts with the row's maximum"),
    wrong("the sum is not rescaled in the loop: 1,000 equal elements", "right",
          "NaN", "no element is larger than the first."),
    wrong("m starts at 0: 1,000 random elements", "right", "yes", "is not one of"),
)  # fmt: skip
