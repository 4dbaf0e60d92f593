"""Define cases with `ldmatrix` and `stmatrix`: rows in different banks, in the same banks,
addressed twice, and random rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch

from tests.profiling import matrix_kernels as kernels
from tests.profiling.case import F16, Case, numbers, tensor, untouched

LANE = np.arange(32)
ROW, COLUMN = LANE % 8, LANE // 8  # indices of a lane's row and matrix

# The start of each lane's row, in units of 16 bytes.
PATTERNS = {
    "one_after_another": (LANE, "no conflict"),
    "apart_32": (LANE * 2, "two rows of a matrix in each used bank"),
    "apart_64": (LANE * 4, "four rows in each used bank"),
    "apart_128": (LANE * 8, "all eight rows in the same banks"),
    "padded": (LANE * 9, "rows of 144 bytes: no conflict"),
    "swizzled": (ROW * 8 + (COLUMN ^ ROW), "S<3,4,3>, 8 rows of 128 bytes: no conflict"),
    "unswizzled": (ROW * 8 + COLUMN, "the same tile without a swizzle"),
    "swizzled_64": (ROW * 4 + (COLUMN ^ ROW // 2), "S<2,4,3>, 8 rows of 64 bytes"),
}
ALIKE = {
    "same_row": (LANE * 0, "the same row for all lanes"),
    "same_matrix": (ROW * 8, "the same matrix four times, with its rows in the same banks"),
    "pairs": (LANE // 2, "lanes i and i^1 address the same row"),
    "others_elsewhere": (np.where(LANE < 8, LANE, LANE * 8), "x1 uses only the first eight"),
}


def elements(count: int, transposed: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield (lane, element of its registers, lane that addresses the row, element of the row)."""
    for lane, register, half in itertools.product(range(32), range(count), range(2)):
        row, column = lane // 4, lane % 4 * 2 + half
        if transposed:
            row, column = column, row
        yield lane, 2 * register + half, 8 * register + row, column


def case(index: np.ndarray, why: str, count: int, transposed: bool, store: bool) -> Case:
    rows = -(-(int(index.max()) + 1) // 32) * 32
    places = list(elements(count, transposed))

    def make():
        x, y = (32, rows) if store else (rows, 32)
        return numbers(x * 8, F16).view(x, 8), tensor(index), untouched(y * 8, F16).view(y, 8)

    def reference(x: torch.Tensor, idx: torch.Tensor, y: torch.Tensor):
        right = torch.zeros_like(y) if store else y.clone()
        for lane, mine, named, element in places:
            if store:
                right[idx[named], element] = x[lane, mine]
            else:
                right[lane, mine] = x[idx[named], element]
        return right

    host = kernels.matrix_store if store else kernels.matrix_load
    return Case(host, make, reference, why, (rows, count, transposed), True)


def cases() -> Iterator[tuple[str, Case]]:
    for name, (index, why) in PATTERNS.items():
        yield f"ldmatrix_x4_{name}", case(index, why, 4, False, False)
        yield f"stmatrix_x4_{name}", case(index, why, 4, False, True)
    for name, (index, why) in ALIKE.items():
        yield f"ldmatrix_x4_{name}", case(index, why, 4, False, False)
    for count, name in itertools.product((1, 2), ("one_after_another", "apart_64", "padded")):
        index, why = PATTERNS[name]
        for transposed in (False, True):
            ending = f"matrix_x{count}{'t' * transposed}_{name}"
            yield f"ld{ending}", case(index, why, count, transposed, False)
            yield f"st{ending}", case(index, why, count, transposed, True)
    yield "ldmatrix_x1_others_elsewhere", case(*ALIKE["others_elsewhere"], 1, False, False)
    for seed in range(4):
        index = np.random.default_rng(seed).permutation(256)[:32]
        yield f"ldmatrix_x4t_random_{seed}", case(index, "rows at random", 4, True, False)
        yield f"stmatrix_x4t_random_{seed}", case(index, "rows at random", 4, True, True)


CASES: dict[str, Case] = dict(cases())
