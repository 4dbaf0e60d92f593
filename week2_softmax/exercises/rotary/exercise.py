"""Puzzle week2/rotary: rotary position embedding in place, pairs half apart."""

import torch

from forgekit.lessons.gates import found, looks_like, read_at_most
from forgekit.lessons.pictures import picture
from forgekit.lessons.puzzle import puzzle

PICTURE = picture(
    "one head: one colour per pair",
    {
        "here, half apart": [[f"x{i}" for i in range(8)]],
        "the other convention, neighbours": [[(f"x{i}", i // 2) for i in range(8)]],
        "angles of the token": [["θ0", "θ1", "θ2", "θ3"]],
    },
    lambda text: int(text[-1]) % 4,
)


def _inputs(draw, tokens, heads, dim):
    """Return inputs in which token t is at position 7 t + 1; the angles are those of Su et al.
    (2021)."""
    j = torch.arange(dim // 2, dtype=torch.float64)
    angles = (torch.arange(tokens)[:, None] * 7 + 1) * 10_000.0 ** (-2 * j / dim)
    x = draw(tokens, heads, dim)
    return x, angles.cos().float(), angles.sin().float()


def _rotated(x, cos, sin, *, sign=1, both=True):
    """Rotate in float64. sign: -1 rotates backwards; both: also rotate the second half."""
    a, b = x.double().chunk(2, dim=2)
    cos, sin = cos.double()[:, None], sin.double()[:, None] * sign
    return torch.cat([a * cos - b * sin, b * cos + a * sin if both else b], 2)


def _neighbours(x, cos, sin):
    a, b = x.double()[:, :, 0::2], x.double()[:, :, 1::2]
    cos, sin = cos.double()[:, None], sin.double()[:, None]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], 3).flatten(2)


def _overwritten(x, cos, sin):
    """Return the result if the second half is computed from the rotated first half."""
    a, b = x.double().chunk(2, dim=2)
    cos, sin = cos.double()[:, None], sin.double()[:, None]
    turned = a * cos - b * sin
    return torch.cat([turned, b * cos + turned * sin], 2)


def _first_pairs(x, cos, sin):
    j = torch.arange(x.shape[2]) % (x.shape[2] // 2)
    return torch.where(j < 32, _rotated(x, cos, sin), x.double())


EXERCISE = puzzle(
    title="rotate vectors by their position",
    task="""
A rotary embedding encodes a token's position by rotating vectors. `x` has shape (tokens,
heads, dim). Components j and j + dim / 2 of a head are a pair (a, b). The kernel rotates the pair by an angle that depends on the token t and on j, given as
`cos[t, j]` and `sin[t, j]`:

    a' = a · cos − b · sin,   b' = b · cos + a · sin

Pairs are **half apart**, as in Llama and GPT-NeoX (`rotate_half`). Some models pair neighbours, 2j and 2j + 1; the two conventions are incompatible. The result overwrites `x`, which is float32 or float16. The tables have shape (tokens, dim / 2) and are float32. Read each table entry once for all heads. Signature:
`rotary(mX, mCos, mSin)`.
""",
    hints=(
        "The kernel reduces nothing. If you overwrite a pair in place, which thread has to hold both elements?",
        "Use two loops: the lanes share the dim / 2 pairs of a head, and each lane goes through all heads. Which values stay the same in the inner loop?",
        "Load both elements before you store either. Load cos and sin in the outer loop.",
    ),
    analysis="""
A pair takes six operations for 8 bytes read and 8 bytes written, so the kernel is bound by memory. For 21 tokens
with 8 heads of 128 float32, it loads 3,024 sectors: 2,688 of `x` and 336 of the tables. Working in place is safe,
because one thread owns both elements of a pair and reads them before it writes. With one thread per element,
warps would race. After such rotations, q · k depends on the positions of its two tokens only through their
distance, which is exactly what attention needs.
""",
    asked={"work": "one warp per token"},
    entry="rotary",
    given=PICTURE,
    inputs=_inputs,
    result=_rotated,
    in_place=True,
    sizes=[(2, 1, 4), (1, 1, 2), (3, 2, 64), (5, 3, 128), (9, 1, 66), (6, 5, 32), (7, 2, 96)],
    count=[(5, 2, 64), (24, 8, 128)],
    dtypes=("float32", "float16"),
    legal=lambda tokens, heads, dim: (tokens, heads, max(2, dim // 2 * 2)),
    misconceptions=[
        looks_like(lambda x, cos, sin: _neighbours(x, cos, sin), "the neighbours 2j and 2j + 1 are "
                   "rotated: that is the other convention."),
        looks_like(lambda x, cos, sin: _rotated(x, cos, sin, sign=-1), "the pairs rotate by -θ: the signs "
                   "of the two sines are swapped."),
        looks_like(lambda x, cos, sin: _rotated(x, cos, sin, both=False), "only the first half of each "
                   "head is rotated."),
        looks_like(lambda x, cos, sin: _overwritten(x, cos, sin), "the second half is computed from the "
                   "first half after its rotation."),
        looks_like(lambda x, cos, sin: _rotated(x, cos[:1], sin[:1]), "every token is rotated by the angles "
                   "of token 0."),
        looks_like(lambda x, cos, sin: torch.cat([_rotated(x, cos, sin)[:, :1], x.double()[:, 1:]], 1),
                   "only head 0 is rotated."),
        looks_like(lambda x, cos, sin: _first_pairs(x, cos, sin), "only the first 32 pairs of each head "
                   "are rotated: a warp has 32 lanes, but a head may have more pairs."),
        found("global-race", "one thread writes an element that another reads or writes: each pair must belong to "
              "one thread alone."),
        looks_like(lambda x, cos, sin: x, "nothing is rotated: x is unchanged."),
    ],
    more=lambda make: (read_at_most(make, (2, 130, 66), {1: 1, 2: 1}),),
    praise="Every head is rotated.",
)  # fmt: skip
