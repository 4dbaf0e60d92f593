"""Define test cases for shared memory: loads, stores, atomics, cp.async, swizzled tiles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import torch

from tests.profiling import shared_kernels as kernels
from tests.profiling.case import (
    F16,
    F32,
    I32,
    U8,
    Case,
    gathered,
    numbers,
    scattered,
    tensor,
    untouched,
)
from tests.profiling.patterns import LANE, OF_WARP, only, permutation, random


def room(index: np.ndarray, vector: int, dtype: torch.dtype) -> int:
    """Return the number of shared-memory elements that a pattern needs: a power of two, at least 1
    KiB."""
    need = (int(index.max()) + 1) * vector * dtype.itemsize
    return max(1 << (need - 1).bit_length(), 1024) // dtype.itemsize


def load(index: np.ndarray, why: str, dtype: torch.dtype, vector: int, block: int = 32) -> Case:
    """Make a case of y[i] = s[index[i]], in units of `vector` elements; s is filled from x."""
    size = room(index, vector, dtype)

    def make():
        return numbers(size, dtype), tensor(index), untouched(len(index) * vector, dtype)

    reference = functools.partial(gathered, vector=vector)
    return Case(kernels.shared_load, make, reference, why, (vector, size, block))


def store(index: np.ndarray, why: str, dtype: torch.dtype, vector: int, block: int = 32) -> Case:
    """Make a case of s[index[i]] = values derived from the index, where s is initially 0; y is the
    whole of s, block by block."""
    size = room(index, vector, dtype)
    blocks = len(index) // block

    def reference(idx: torch.Tensor, y: torch.Tensor):
        blank = torch.zeros(size, dtype=dtype)
        return torch.cat([scattered(part, blank, vector) for part in idx.view(blocks, block)])

    return Case(kernels.shared_store, lambda: (tensor(index), untouched(blocks * size, dtype)),
                reference, why, (vector, size, block))  # fmt: skip


WIDTHS = {8: (U8, 1), 16: (F16, 1), 32: (F32, 1), 64: (F32, 2), 128: (F32, 4)}  # elements/thread


def one_warp() -> Iterator[tuple[str, Case]]:
    for bits, (dtype, vector) in WIDTHS.items():
        for name, index in OF_WARP[bits].items():
            why = f"one warp, {bits}-bit, {name}"
            yield f"lds{bits}_{name}", load(index.astype(np.int32), why, dtype, vector)
            if bits >= 32:
                yield f"sts{bits}_{name}", store(index.astype(np.int32), why, dtype, vector)
    yield "lds128h_ones", load(LANE, "128-bit as eight fp16", F16, 8)
    yield "lds128h_stride2", load(LANE * 2, "128-bit as eight fp16, two-way", F16, 8)


def random_warps() -> Iterator[tuple[str, Case]]:
    """Make cases with one random warp each, whose wavefronts determine the rule."""
    plans = {16: ((512, 1.0), (64, 1.0)), 32: ((1024, 1.0), (64, 1.0), (1024, 0.4)),
             64: ((1024, 1.0), (64, 1.0), (16, 1.0), (1024, 0.4)),
             128: ((512, 1.0), (32, 1.0), (12, 1.0), (512, 0.4))}  # fmt: skip
    for bits, plan in plans.items():
        dtype, vector = WIDTHS[bits]
        seeds = 3 if bits >= 64 else 2
        for below, active in plan:
            for seed in range(seeds):
                index = random(1000 * bits + below + seed, 32, below, active=active)
                name = f"{bits}_random_below{below}{'_masked' if active < 1 else ''}_{seed}"
                why = f"one warp, random units below {below}, {active:.0%} of the lanes"
                yield f"lds{name}", load(index, why, dtype, vector)
                if bits >= 32 and seed < 2:
                    yield f"sts{name}", store(index, why + " (stores)", dtype, vector)
    for bits in (32, 64, 128):
        dtype, vector = WIDTHS[bits]
        for active in (1.0, 0.5):
            index = random(bits, 8 * 128, 8192 // (bits // 8), active=active)
            name = f"{bits}_random_many{'_masked' if active < 1 else ''}"
            why = "32 random warps in blocks of 128: an average over many patterns"
            yield f"lds{name}", load(index, why, dtype, vector, 128)
            yield f"sts{name}", store(index, why, dtype, vector, 128)


def atomics(index: np.ndarray, used: bool, dtype: torch.dtype, why: str, block: int = 32) -> Case:
    """Make a case of s[index[i]] += v[i], where s is initially 0; y is the whole of s, block by
    block."""
    size = max(room(index, 1, dtype), block)
    blocks = len(index) // block

    def make():
        return (numbers(len(index), dtype), tensor(index), untouched(blocks * size, dtype),
                untouched(len(index), dtype))  # fmt: skip

    def reference(v: torch.Tensor, idx: torch.Tensor, y: torch.Tensor, old: torch.Tensor):
        place = (torch.arange(blocks)[:, None] * size + idx.view(blocks, block)).view(-1)
        return torch.zeros_like(y).index_add(0, place[idx >= 0], v[idx >= 0])

    return Case(kernels.shared_atomics, make, reference, why, (used, size, block), result=2)


def atomic_cases() -> Iterator[tuple[str, Case]]:
    shapes = {
        "same": LANE * 0, "distinct": LANE, "two_way": LANE * 2, "stride32": LANE * 32,
        "two_words": LANE % 2, "pairs": LANE // 2, "random16": random(7, 32, 16),
        "random256": random(8, 32, 256), "three_lanes": only((0, 9, 30), LANE * 32),
        "many": random(9, 512, 256),
    }  # fmt: skip
    for shape, index in shapes.items():
        block = 128 if shape == "many" else 32
        for kind, dtype in (("i32", I32), ("f32", F32)):
            why = f"{shape}; float adds are a loop of compare-and-swap in machine code"
            yield f"atoms_{kind}_{shape}", atomics(index, True, dtype, why, block)
            if shape in ("same", "distinct", "two_way", "random16"):
                yield f"reds_{kind}_{shape}", atomics(index, False, dtype, why, block)

    yield "atoms_uniform", Case(
        kernels.shared_count, lambda: (untouched(32, I32),),
        lambda y: torch.tensor([128] + [0] * 31, dtype=I32),
        "known address and value: the compiler may first add up each warp's threads",
    )  # fmt: skip


def async_copy(
    source: np.ndarray, target: np.ndarray, why: str, *, vector: int, mode: str = "ca",
    block: int = 32, offset: int = 0,
) -> Case:  # fmt: skip
    """Make a case of cp.async of `vector` floats per thread; targets are distinct within a
    block."""
    size = room(target, vector, F32)
    blocks, units = len(source) // block, int(source.max()) + 1

    def make():
        x = numbers(units * vector + offset, F32)[offset:]
        return x, tensor(source), tensor(target), untouched(blocks * size, F32)

    def reference(x: torch.Tensor, i: torch.Tensor, j: torch.Tensor, y: torch.Tensor):
        out = torch.zeros_like(y).view(blocks, -1, vector)
        number, who = torch.arange(len(i)) // block, i >= 0
        out[number[who], j[who].long()] = x.view(-1, vector)[i[who].long()]
        return out.view(-1)

    return Case(kernels.async_copy, make, reference, why, (vector, size, block, mode))


def async_cases() -> Iterator[tuple[str, Case]]:
    lane = LANE
    for vector, mode in ((1, "ca"), (2, "ca"), (4, "ca"), (4, "cg")):
        kind, name = {"vector": vector, "mode": mode}, f"cpasync{vector * 4}{mode}"
        yield f"{name}_ones", async_copy(lane, lane, "coalesced, conflict-free", **kind)
        yield f"{name}_strided", async_copy(lane * 9, lane, "rows of 9 units", **kind)
        yield f"{name}_two_way", async_copy(lane, lane * 2, "two-way in shared memory", **kind)
        row = 32 // vector
        yield f"{name}_one_bank", async_copy(lane, lane * row, "one bank", **kind)
        yield f"{name}_same", async_copy(lane * 0, lane, "all lanes read one unit", **kind)
        yield f"{name}_pairs", async_copy(lane // 2, lane, "neighbours read one unit", **kind)
        few = only((0, 9, 30))
        yield f"{name}_few", async_copy(few, lane, "three lanes", **kind)
        for seed in range(3):
            where, to = random(seed + 40, 32, 256), permutation(seed + 50, 32, 256)
            yield f"{name}_random{seed}", async_copy(where, to, "random source and target", **kind)
        where, to = (
            random(60, 256, 512, active=0.7),
            np.concatenate([permutation(70 + b, 128, 256) for b in range(2)]),
        )
        yield f"{name}_many", async_copy(where, to, "blocks of 128, masked", block=128, **kind)
        if vector == 4:  # as for tiles of 16-bit elements: rows of 128 or 64 bytes
            r, c = lane // 8, lane % 8
            yield f"{name}_swizzled128", async_copy(lane, r * 8 + (c ^ r), "S<3,4,3>", **kind)
            rows = async_copy(r * 20 + c, r * 8 + (c ^ r), "S<3,4,3>, separate rows", **kind)
            yield f"{name}_swizzled128_rows", rows
            r, c = lane // 4, lane % 4
            to = r * 4 + (c ^ (r // 2 % 4))
            yield f"{name}_swizzled64", async_copy(lane, to, "S<2,4,3>", **kind)
            rows = async_copy(r * 10 + c, to, "S<2,4,3>, separate rows", **kind)
            yield f"{name}_swizzled64_rows", rows
        if vector < 4:
            yield f"{name}_off", async_copy(lane, lane, "x does not begin at a sector",
                                            offset=vector, **kind)  # fmt: skip
    off = {"vector": 4, "offset": 4}
    yield "cpasync16ca_off", async_copy(lane, lane, "x begins 16 bytes into a sector", **off)
    yield (
        "cpasync16cg_off",
        async_copy(lane, lane, "x begins 16 bytes into a sector", mode="cg", **off),
    )


def squares(side: int, dtype: torch.dtype) -> Callable[[], tuple[torch.Tensor, ...]]:
    count = side * side
    return lambda: tuple(f(count, dtype).view(side, side) for f in (numbers, untouched))


def tiles() -> Iterator[tuple[str, Case]]:
    why, same = "64 by 64 fp16, 128-bit, read down a column", lambda x, y: x
    for name, swizzled, more in (("tile_plain", False, ""), ("tile_swizzled", True, ", S<3,4,3>")):
        yield name, Case(kernels.tile, squares(64, F16), same, why + more, (swizzled,), static=True)
    why = "transpose, columns xored with the row"
    yield "xor", Case(kernels.xor, squares(32, F32), lambda x, y: x.T.contiguous(), why)


CASES: dict[str, Case] = dict(
    [*one_warp(), *random_warps(), *atomic_cases(), *async_cases(), *tiles()]
)
