"""Wrong answers of week2/what_hides."""

from forgekit.lessons.wrong import Wrong


def wrong(question: str, right: str, word: str, says: str) -> Wrong:
    """Another word at this question."""
    return Wrong(
        f"{question}: {word}", {f'"{question}": "{right}"': f'"{question}": "{word}"'}, says
    )


WRONG = (
    wrong("the sum is not rescaled in the loop: 1,000 random, the first is the largest", "wrong",
          "right", "lane 0 has it first"),
    wrong("the sum is not rescaled in the loop: 1,000 equal", "right",
          "NaN", "no element is larger than the first."),
    wrong("the lanes' sums are added as they are: 1,000, descending", "wrong",
          "right", "in a descending row the lanes never re"),
    wrong("the lanes' sums are added as they are: 1,000 equal", "right",
          "NaN", "all lanes have the same maximum."),
    wrong("m begins at 0: 1,000 around -1,000", "NaN",
          "right", "the maximum stays 0, and every exponen"),
    wrong("m begins at 0: 1,000 random", "right",
          "NaN", "some element is larger than 0, and the"),
    wrong("s begins at 1: 1,000 random", "right",
          "NaN", "the first element rescales it by exp(-"),
    wrong("s begins at 1: 20 random", "right",
          "NaN", "12 lanes keep (-inf, 1), and the merge"),
    wrong("no guard in the loop: 1,000, the first 32 masked", "NaN",
          "right", "each lane begins with -inf - (-inf)."),
    wrong("no guard in the loop: 1,000, the last third masked", "right",
          "NaN", "each lane has a finite maximum by then"),
    wrong("no guard in the loop: 1,000, every second masked", "NaN",
          "right", "lanes 0, 2, 4, … see nothing but -inf."),
    wrong("m begins at 0: 1,000 random", "right", "yes", "is not one of"),
)  # fmt: skip
