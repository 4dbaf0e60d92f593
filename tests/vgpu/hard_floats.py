"""Generate inputs that are hard to round: their exact results are very close to a tie between two
floats or to the end of a range, where too few bits or double rounding give the wrong neighbour.
"""

from __future__ import annotations

import functools
import random
from fractions import Fraction

from tests.vgpu.exact import Format, encode, value

Triple = tuple[int, int, int]


def scaled(significand: int, exponent: int, form: Format) -> int:
    """Return the bits of significand * 2**exponent, which must be exact."""
    exact = Fraction(significand) * Fraction(2) ** exponent
    bits = encode(exact, form)
    assert value(bits, form) == exact, (significand, exponent)
    return bits


@functools.cache
def hard_triples(form: Format, count: int) -> list[Triple]:
    """Return triples (a, b, c) whose exact a*b + c is on or very close to a tie between two floats.
    a*b is 2**k or 2**k ± 1, for example (2**j - 1)(2**j + 1) = 2**2j - 1, times a power of two that
    scales it to about half a unit in the last place of c."""
    p = form.mantissa + 1
    rng = random.Random(11)
    products = [(1, 1), (3, 3), (2**p - 1, 2**p - 1), (2 ** (p - 1) + 1, 2**p - 1)]
    products += [(2**j - 1, 2**j + 1) for j in range(2, p)]
    if p == 24:
        products += [(8384513, 8392705)]  # 2**46 + 1
    if p == 53:
        products += [(2**53 - 1, 2**53 - 1), (2**27 + 1, 2**27 - 1)]
    low, high = form.emin - form.mantissa, -form.emin + 1
    cases = []
    while len(cases) < count:
        m, n = rng.choice(products)
        size = (m * n + 1).bit_length() - 1
        # exponent of c's last place, from the subnormals to the largest numbers
        last = rng.choice([low, low + 1, low + p, rng.randint(low, high - p), high - p])
        significand = rng.choice([2 ** (p - 1), 2**p - 1, 2 ** (p - 1) + 1, rng.getrandbits(p), 1])
        shift = last - 1 - size + rng.choice([0, 0, 0, 1, -1, -p, 2])
        left = rng.randint(low, high - p)
        for _ in range(50):  # split the scale so that a and b are both representable
            if low <= left <= high - p and low <= shift - left <= high - p:
                break
            left = rng.randint(low, high - p)
        else:
            continue
        signs = [rng.choice((0, form.sign_bit)) for _ in range(3)]
        triple = (
            scaled(m, left, form), scaled(n, shift - left, form), scaled(significand, last, form),
        )  # fmt: skip
        cases.append(tuple(t | s for t, s in zip(triple, signs, strict=True)))
    return cases


@functools.cache
def random_triples(form: Format, count: int) -> list[Triple]:
    """Return random triples: half have arbitrary bits, half have exponents for which a*b and c
    overlap."""
    rng = random.Random(13)
    cases = []
    for i in range(count):
        a, b, c = (rng.getrandbits(form.bits) for _ in range(3))
        if i % 2:
            bias = 1 - form.emin
            ea = rng.randint(1, 2 * bias)
            eb = max(0, min(2 * bias, rng.randint(-4, 4) + bias + (c >> form.mantissa) % bias - ea))
            keep = (1 << form.mantissa) - 1
            a = a & keep | ea << form.mantissa
            b = b & keep | eb << form.mantissa
        cases.append((a, b, c))
    return cases


@functools.cache
def near_ties(source: Format, target: Format) -> list[int]:
    """Return `source` bits on and next to every kind of tie in `target`, and at the ends of
    `target`'s range."""
    rng = random.Random(5)
    steps = [0, 1, 2, (1 << target.mantissa) - 1, 1 << target.mantissa, (1 << target.mantissa) + 1]
    steps += [target.largest - 1, target.largest]
    steps += [rng.randrange(target.largest) for _ in range(100)]
    result = []
    for step in steps:
        low = value(step, target)
        high = value(step + 1, target)
        assert isinstance(low, Fraction)
        if isinstance(high, str):  # in place of infinity
            high = low + (low - value(step - 1, target))
        for exact in (low, (low + high) / 2, (3 * low + high) / 4, high):
            middle = encode(exact, source)
            for bits in (middle - 1, middle, middle + 1):
                if bits >= 0:
                    result += [bits, bits | source.sign_bit]
    result += [rng.getrandbits(source.bits) for _ in range(200)]
    return [*result, source.infinity, source.infinity | source.sign_bit, source.nan]
