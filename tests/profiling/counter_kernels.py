"""List all kernels whose counters are measured, for ncu and for the virtual GPU.

    python -m tests.profiling.measure --out FILE      (on a machine with a GPU)

measures them. `golden/h200_counters.json` contains an H200's results, `h200_matrix_counters.json`
the results of cases with ldmatrix and stmatrix (`--only matrix_x`), and `h200_tensor_counters.json`
the results of cases with tensor copies and wgmma (`--only '^tensor_|^wgmma'`). The kernels are in
the files `*_kernels.py`, and their arguments in the files `*_cases.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch

import forgekit as fk
from tests.profiling import course_kernels as kernels
from tests.profiling import global_cases, matrix_cases, shared_cases, tensor_cases
from tests.profiling.case import F32, I32, Case, Tensors, numbers, untouched


def matrix(*result: int) -> Callable[[], Tensors]:
    """Return x of shape (256, 320), and y of shape `result`."""
    return lambda: (numbers(256 * 320, F32).view(256, 320),
                    untouched(int(np.prod(result)), F32).view(*result))  # fmt: skip


def transposed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.T.contiguous()


def row_sums(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.double().sum(1).float()


def half_warps(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    i = torch.arange(len(y))
    four = sum(x[(i + 8 * k) % len(y)] for k in range(4))
    return torch.where(i % 32 < 16, four, x[i] * 3)


def uneven_loops(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x[:32].cumsum(0).to(I32).repeat(len(y) // 32)


def vectors(count: int, dtype: torch.dtype) -> Callable[[], Tensors]:
    return lambda: (numbers(count, dtype), untouched(count, dtype))


COURSE = {
    "t_naive": Case(kernels.t_naive, matrix(320, 256), transposed, "stores down a column"),
    "t_smem0": Case(kernels.t_smem, matrix(320, 256), transposed, "a tile without padding", (0,)),
    "t_smem1": Case(kernels.t_smem, matrix(320, 256), transposed, "a tile of row stride 33", (1,)),
    "r_naive": Case(kernels.r_naive, matrix(256), row_sums, "one row per thread"),
    "r_shfl": Case(kernels.r_shfl, matrix(256), row_sums, "one row per block, with shuffles"),
    # 16 warps: one half of each warp loads with four requests, the other half with one request, and
    # each half stores with one request.
    "half_warps": Case(kernels.half_warps, vectors(512, F32), half_warps,
                       "halves of a warp on two paths: instructions, threads, requests"),
    "uneven_loops": Case(kernels.uneven_loops, vectors(512, I32), uneven_loops,
                         "each lane another trip count: 32 loads a warp, all of one address"),
}  # fmt: skip

KERNELS: dict[str, Case] = {
    **COURSE, **global_cases.CASES, **shared_cases.CASES, **matrix_cases.CASES,
    **tensor_cases.CASES,
}  # fmt: skip


@functools.cache
def profile_of(name: str) -> fk.Profile:
    case = KERNELS[name]
    with fk.use_target("virtual"):
        tensors = case.make()
        return fk.profile(case.compile(tensors), *tensors)
