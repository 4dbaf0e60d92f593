"""Puzzle week2/top_k: the four largest elements of a row and their columns."""

import torch

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle


def _inputs(draw, m, n):
    x = draw.integers(-9, 10, m, n)  # many ties
    x[1::4] = draw(m, n)[1::4]
    x[7::8] = -(x[7::8].abs() / 3).floor()  # the largest are zeros,
    x[7::8, ::2] += 0.0  # half of them negative: -0.0 == 0.0
    x[3::8] *= 2.0**100
    x[1::4, -1] = 9
    if n > 31:
        x[2::4, 2:] = -torch.inf  # as after a mask
    if n > 101:
        x[::4, 5:102:32] = torch.tensor([20.0, 23.0, 22.0, 21.0])  # all four in one lane
    if n > 65_536:  # columns that 16 bits cannot count
        x[:, -3:] = torch.tensor([30.0, 32.0, 31.0])
    return (x,)


def _top(x, *outputs):
    """Return the four largest elements, ordered by value and then by index."""
    order = x.sort(dim=1, descending=True, stable=True)
    return order.values[:, :4], order.indices[:, :4].to(torch.int32)


def _of_lanes(x, *outputs):
    """Return the four largest of the lanes' maxima."""
    rows, columns = x.shape
    padded = torch.full((rows, -(-columns // 32) * 32), -torch.inf)
    padded[:, :columns] = x
    return padded.reshape(rows, -1, 32).max(1).values.topk(4, 1).values


def _indices_alone(e):
    """Return True where an index is wrong; all values must be right."""
    assert torch.equal(e.got[1], e.case.expected[1])
    return e.got[2] != e.case.expected[2]


def _other_of_equals(e):
    _indices_alone(e)
    return torch.equal(e.case.args[0].gather(1, e.got[2].long()), e.got[1])


def _filled_with_0(e):
    wrong = _indices_alone(e)
    return not e.got[2][wrong].any() and bool((e.got[1][wrong] == -torch.inf).all())


def _no_element(e):
    wrong = _indices_alone(e)
    value, index = e.got[1][wrong], e.got[2][wrong]
    none = (index < 0) | (index >= e.case.args[0].shape[1])
    return bool((none & (value == -torch.inf)).all())


EXERCISE = puzzle(
    title="find the four largest elements and their columns",
    task="""
Store the four largest elements of each row in `v[m, 0…3]`, the largest first, and their columns
in `i[m, 0…3]`. Among equal elements, the lower index comes first, so the order of lanes cannot change the result. Rows have at least four elements; some elements may be −∞, but none is NaN. Read each row once. x and v are float32, and i is int32. Signature: `top_k(x, v, i)`.
""",
    hints=(
        "A lane keeps four sorted pairs (value, index). Which pair is the identity? It has to come after every element, even after −∞.",
        "Compare a new pair with each of the four in turn. If it is better, swap the two and continue with the displaced pair. Drop the last one.",
        "In each step of the butterfly, shuffle all eight numbers of the partner before you insert the first pair. Compare indices there as well, because the partner's may be lower.",
    ),
    analysis="""
Merging two lists of four is associative and commutative, because the index makes the order total:
no two pairs are equal. To sample from the k likeliest words, combine this kernel with a softmax over k numbers. If k exceeds a few dozen,
registers run out; then sort, or select by digits (radix select), instead.
""",
    asked={"work": "one warp per row", "shared_bytes": 0},
    entry="top_k",
    inputs=_inputs,
    result=_top,
    sizes=[(2, 6), (1, 4), (5, 31), (3, 33), (2, 500), (1, 65_600), (9, 65), (6, 100)],
    count=[(5, 100), (64, 300)],
    legal=lambda m, n: (m, max(4, n)),
    exact=True,
    waste={"idle_lanes": None},  # only half of the lanes may merge
    misconceptions=[
        looks_like(lambda x, *outputs: -(-x).topk(4, 1).values, "the values are the smallest."),
        looks_like(lambda x, *outputs: _top(x)[0].flip(1), "the four values are correct, but the smallest comes first."),
        looks_like(lambda x, *outputs: x.max(1, keepdim=True).values.expand(-1, 4), "the largest is in all four places. "
                   "Does a displaced pair move on, is each of the four stored, and is no pair inserted twice?"),
        Misconception("all values are correct, and each index belongs to its value. But among equal elements the kernel does not put "
             "the first one first, or takes the same one twice.", _other_of_equals),
        Misconception("all values are correct, but where they are −∞, a wrong index is 0: a pair that fills a list has to come "
             "after every element, so give it an index that is larger than theirs.", _filled_with_0),
        Misconception("all values are correct. But where they are −∞, an index belongs to no element: a pair that fills a list stands in place "
             "of an element. Insert elements of −∞ too, and give the pair an index that comes after all of theirs.", _no_element),
        looks_like(_of_lanes, "each lane contributes only its largest element: one lane may have all four."),
    ],
    more=lambda make: (read_at_most(make, (5, 100), {0: 1}),),
    given=picture(
        "two nines, the lower index first",
        {"x": [["4", ("9", 0), "1", ("7", 2), ("5", 3), ("9", 1)]], "v": [[("9", 0), ("9", 1), ("7", 2), ("5", 3)]],
         "i": [[("1", 0), ("5", 1), ("3", 2), ("4", 3)]]},
    ),
)  # fmt: skip
