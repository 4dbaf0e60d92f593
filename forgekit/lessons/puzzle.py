"""Define puzzles. In a puzzle, the student writes a whole kernel, and a line of torch specifies its
result.

`puzzle` makes an exercise from its texts, a function that draws inputs, and a function that
computes the expected result. It adds the usual gates: one compares values at awkward sizes, and at
types and sizes that depend on the submission's text; one runs the sanitizer under adversarial
schedules; one checks the task's requirements; and one compares the counters with the solution's.
The sanitizer and the counters also run with every type, at a size that a submission cannot know in
advance. Then a sample of blocks runs of calls that are too large to run.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forgekit.lessons.exercise import Exercise
from forgekit.lessons.gates.asked import as_asked, stated, words_of
from forgekit.lessons.gates.clean import clean
from forgekit.lessons.gates.economy import economical
from forgekit.lessons.gates.large import large_calls
from forgekit.lessons.gates.submission import Case, Group
from forgekit.lessons.gates.values import unknown_size, values

if TYPE_CHECKING:
    import torch

    from forgekit.lessons.gates.asked import Asked
    from forgekit.lessons.gates.gate import Misconception
    from forgekit.lessons.gates.submission import CallKey, MakeCase

Promise = Mapping[int, Mapping[int, int]]
_FAR = 4096  # the values' secret sizes exceed this too, since kernels may have a smaller maximum
# matches tasks that require arithmetic in float32, not tasks that only mention the type
_IN_FLOAT32 = re.compile(
    r"\b(accumulate|add|arithmetic|compute|multiply|subtract)\b[^.;,]*\sin\s+float32\b", re.I
)


class Draw:
    """Generates a puzzle's inputs on the CPU. Each call draws different values. The values are
    reproducible, except within `forgekit.tensors.reseeded`.

    dtype: the case's torch dtype. size: the case's size, which also seeds `number`.
    """

    def __init__(self, dtype: torch.dtype, *size: int) -> None:
        self.dtype, self.size = dtype, size
        self._seed = 0

    def __call__(self, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Draw normally distributed values."""
        import forgekit as fk

        return fk.randn(*shape, dtype=dtype or self.dtype, seed=self._next(), device="virtual")

    def integers(
        self, low: int, high: int, *shape: int, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """Draw integers from `low` (inclusive) to `high` (exclusive), as `dtype` or the case's
        dtype."""
        import forgekit as fk

        of = dtype or self.dtype
        return fk.randint(low, high, *shape, dtype=of, seed=self._next(), device="virtual")

    def number(self, low: float, high: float) -> float:
        """Draw a number between `low` and `high` that float32 represents exactly."""
        import forgekit as fk

        unit = fk.rand(1, seed=self._next() + 100 * abs(sum(self.size)), device="virtual")
        return float(low + (high - low) * unit)

    def fractions(self, *shape: int) -> torch.Tensor:
        """Draw values between -8 and 8 whose float32 sums are exact in every order of addition.
        Sums in narrower types are rounded."""
        import torch

        bits = {torch.float16: 11, torch.bfloat16: 8}.get(self.dtype, 14)
        return self.integers(1 - 2**bits, 2**bits, *shape) * 2.0 ** (3 - bits)

    def extremes(self, m: int, n: int, *, finite: bool = False) -> torch.Tensor:
        """Draw an (m, n) tensor for maxima and softmax. Its rows cycle through five patterns:
        normally distributed values; values below 0; far below 0; far above 0, with ∞ as the largest
        element; and all -∞.

        In the first eight rows, the position of the largest element cycles through four choices:
        the first element, the last element, the end of a 256-element block's seventh warp, and the
        beginning of the last 256-element block. Later rows place it at each power of two and just
        before it, from the largest power down, and then at every position in order. The smallest
        element is always one step ahead in the same cycle.

        finite: True to draw no ∞, and normally distributed values instead of the rows of -∞.
        """
        import torch

        far = 16_000.0 if self.dtype == torch.float16 else 1e10
        x, index = self(m, n).float(), torch.arange(m)
        rows = index + n % 7
        warp = (n - 224) // 256 * 256 + 223 if n >= 224 else n * 3 // 4
        few = torch.tensor([0, n - 1, warp, (n - 1) // 256 * 256 or n // 2])
        powers = [2**k - less for k in range(n.bit_length(), 0, -1) for less in (0, 1)]
        many = torch.cat((torch.tensor(powers), torch.arange(n)))
        many = many[many < n]
        turns = rows - rows // 5  # rows of -∞ do not advance the cycle
        turns -= turns[8:9].sum()
        for step, best, by in ((1, torch.argmin, -0.25), (0, torch.argmax, 0.25)):
            later = many[(turns + step) % len(many)]
            places = few[(rows + step) % 4].where(index < 8, later)
            pair = torch.stack((places, best(x, 1)), 1)
            x.scatter_(1, pair, x.gather(1, pair.flip(1)))
            x[index, places] += by
        for kind, rule in enumerate((x, x - 10, (x - 10) * far / 8, (x + 10) * far / 8)):
            x = torch.where((rows % 5 == kind)[:, None], rule, x)
        if not finite:
            x[rows % 5 == 4] = -torch.inf
            x[rows % 5 == 3, x.argmax(1)[rows % 5 == 3]] = torch.inf
        return x.to(self.dtype)

    def places(self, *shape: int) -> torch.Tensor:
        """Return values that identify their position: 1, 2, 3, … in row-major order. They start
        over after 2039 in float16, after 251 in bfloat16, and after 2^20 in other types. Within
        `reseeded`, they begin with a different number."""
        import torch

        from forgekit.tensors import shifted

        again = {torch.float16: 2039, torch.bfloat16: 251}.get(self.dtype, 1 << 20)
        numbers = (torch.arange(math.prod(shape)) + shifted(0) % again) % again + 1
        return numbers.to(self.dtype).reshape(shape)

    def _next(self) -> int:
        self._seed += 1
        return self._seed


def puzzle(
    *,
    inputs: Callable[..., tuple[Any, ...]],
    result: Callable[..., Any],
    task: str,
    asked: Asked | None = None,
    praise: str = "",
    sizes: Sequence[tuple[int, ...]],
    count: Sequence[tuple[int, ...]],
    dtypes: Sequence[str] = ("float32",),
    exact: bool = False,
    in_place: bool = False,
    legal: Callable[..., tuple[int, ...]] | None = None,
    promise: Promise | Callable[..., Promise] | None = None,
    waste: Mapping[str, float | None] | None = None,
    misconceptions: Sequence[Misconception] = (),
    more: Callable[[MakeCase], Sequence[Group]] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **texts: Any,
) -> Exercise:
    """Make an exercise whose entry takes the inputs, then the outputs.

    Args:
        inputs: `inputs(draw, *size)` returns the inputs: numbers, or tensors drawn with `draw`, a
            `Draw`.
        result: computes the outputs from the inputs; returns a tensor or a tuple of tensors. Unless
            `exact`, it receives floating-point tensors as float64, and the kernel's output has the
            case's dtype wherever this function returns float64, otherwise the dtype that it
            returns.
        task: the `Exercise`'s task. asked: the requirements that the task's last line states and a
            gate checks, as in `words_of`. praise: the `Exercise`'s praise; by default, it repeats
            the requirements.
        sizes: the sizes at which values are compared, beginning with the size that is easiest to
            read; the sanitizer runs the last two and the smallest.
        count: a small and a large size at which the counters are compared.
        dtypes: the names of the dtypes. exact: True if results must match bit for bit.
        in_place: True if there is no output and the result overwrites the first input.
        legal: converts a drawn size to one that the task allows, such as a multiple of the tile.
        promise: maps an argument's position to {mode: divisor of its size}; or a function that
            returns such a dict for a size.
        waste: as in `economical`. misconceptions: the misconceptions to recognise by values and
            findings. more: a function that receives the function that makes a Case (see `values`)
            and returns further groups. rtol, atol: as in `fk.check`; in 16-bit types, the default
            rtol allows for a single rounding.
        texts: the title, hints, analysis, entry and given of the `Exercise`.
    """
    tolerances: dict[str, Any] = {"rtol": 0.0, "atol": 0.0} if exact else {}
    tolerances |= {k: v for k, v in (("rtol", rtol), ("atol", atol)) if v is not None}

    names = list(inspect.signature(inputs).parameters)[1:]

    def make(*size: int, dtype: torch.dtype) -> Case:
        import torch

        import forgekit as fk

        given = tuple(inputs(Draw(dtype, *size), *size))
        wide = [
            x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() and not exact else x
            for x in given
        ]
        found = result(*wide)
        wanted = list(found) if isinstance(found, tuple) else [found]
        called = ", ".join(f"{name} = {value:,}" for name, value in zip(names, size, strict=True))
        label = f"{called}, {str(dtype).removeprefix('torch.')}"
        if in_place:
            args, expected = given, {0: wanted[0]}
        else:
            outputs = [
                fk.empty(
                    *w.shape, device="virtual",
                    dtype=dtype if w.dtype == torch.float64 and not exact else w.dtype,
                )
                for w in wanted
            ]  # fmt: skip
            args = (*given, *outputs)
            expected = {len(given) + k: w for k, w in enumerate(wanted)}
        promised = promise(*size) if callable(promise) else promise or {}
        specs = {k: fk.spec(args[k], divisible=dict(d)) for k, d in promised.items()}
        kinds = {args[k].dtype for k in expected if args[k].is_floating_point()}
        allowed = dict(tolerances)
        if "rtol" not in allowed and kinds in ({torch.float16}, {torch.bfloat16}):
            allowed["rtol"] = torch.finfo(*kinds).eps / 2 + 2e-5  # allows one rounding from float32
        return Case(args, expected, label, specs, tolerances=allowed)

    def unknown(listed: Sequence[tuple[int, ...]]) -> list[CallKey]:
        size = unknown_size(listed, legal)
        return [(make, size, dtype) for dtype in dtypes]

    smallest = min(sizes, key=math.prod)
    tiny = functools.partial(make)  # unlike `make`, does not affect the types in `values`

    def also_ordered() -> list[CallKey]:
        # In the smallest call, most lanes have no element, which reveals shuffles that they skip.
        least = [] if smallest in sizes[-2:] else [(tiny, smallest, dtypes[0])]
        return [*unknown(sizes), *least]

    frugal = economical(make, count, dtypes[0], more=functools.partial(unknown, count), waste=waste)
    facts = words_of(asked or {})
    checked = {"doubles": 0, "halves": 0} if _IN_FLOAT32.search(task) else {}
    checked |= asked or {}
    praised = f"{facts[0].upper()}{facts[1:]}: as required." if facts else ""
    return Exercise(
        task=task.strip() + stated(asked or {}),
        praise=praise or praised,
        groups=(
            values(
                make, sizes, dtypes, misconceptions=misconceptions, drawn=min(2, len(dtypes)),
                legal=legal, beyond=(*count, (_FAR,) * len(names)), names=names,
            ),
            clean(
                make, sizes[-2:], dtypes[0], more=also_ordered, misconceptions=misconceptions
            ),
            *([as_asked(frugal.counts, checked, names, legal)] if checked else []),
            frugal,
            large_calls(make, sizes, dtypes[0], legal),
            *(more(make) if more else ()),
        ),
        **texts,
    )  # fmt: skip
