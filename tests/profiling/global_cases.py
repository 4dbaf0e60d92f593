"""Define test cases for global memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import torch

from tests.profiling import global_kernels as kernels
from tests.profiling.case import (
    BF16,
    F16,
    F32,
    I8,
    I32,
    U8,
    Case,
    Tensors,
    gathered,
    numbers,
    scattered,
    tensor,
    untouched,
)  # fmt: skip
from tests.profiling.patterns import LANE, OUT, only, permutation, random


def copy(
    count: int, dtype: torch.dtype, why: str, *, vector: int = 1, block: int = 128,
    offset: int = 0, to_offset: int = 0, step: int = 1, to_step: int = 1,
) -> Case:  # fmt: skip
    """Make a case of y = x. x starts `offset`, and y `to_offset`, elements into its storage; they
    use every `step`-th and `to_step`-th element."""
    room = count * max(step, to_step) + 64

    def make():
        x, y = numbers(room, dtype)[offset::step], untouched(room, dtype)[to_offset::to_step]
        return x[:count], y[:count]

    return Case(kernels.copy, make, lambda x, y: x, why, (vector, block))


def copies() -> Iterator[tuple[str, Case]]:
    for name, dtype, vector in (
        ("f32x4", F32, 4), ("f16x8", F16, 8), ("bf16x8", BF16, 8), ("f32x2", F32, 2),
        ("f16x4", F16, 4), ("f16x2", F16, 2), ("f32x1", F32, 1), ("f16x1", F16, 1),
        ("bf16x1", BF16, 1), ("u8x1", U8, 1), ("i8x1", I8, 1), ("u8x4", U8, 4), ("u8x16", U8, 16),
    ):  # fmt: skip
        bits = vector * dtype.itemsize * 8
        yield f"copy_{name}", copy(1024 * vector, dtype, f"{bits} bits per thread", vector=vector)
    for bytes_ in (4, 8, 12, 16, 20):
        why = f"x starts {bytes_} bytes into a sector: one more sector per warp"
        yield f"copy_f32_from_{bytes_}", copy(1024, F32, why, offset=bytes_ // 4)
    yield "copy_f32_to_8", copy(1024, F32, "y starts 8 bytes into a sector", to_offset=2)
    yield "copy_f32x2_from_8", copy(2048, F32, "64-bit, 8 bytes off", vector=2, offset=2)
    yield "copy_f32x4_from_16", copy(4096, F32, "128-bit, 16 bytes off", vector=4, offset=4)
    yield "copy_f32x4_to_16", copy(4096, F32, "128-bit stores, 16 off", vector=4, to_offset=4)
    yield "copy_f16_from_2", copy(1024, F16, "16-bit, 2 bytes off", offset=1)
    yield "copy_u8_from_1", copy(1024, U8, "8-bit, 1 byte off", offset=1, to_offset=3)
    for step in (2, 3, 8, 33):
        yield f"load_stride{step}", copy(1024, F32, "strided loads", step=step)
        yield f"store_stride{step}", copy(1024, F32, "strided stores", to_step=step)
    yield "block48", copy(480, F32, "blocks of 48: the second warp is half empty", block=48)
    yield "block100", copy(1000, F32, "blocks of 100: the last warp has 4 lanes", block=100)
    yield "tail", copy(997, F32, "the last warp has 5 active threads")
    yield "tail_warps", copy(130, F32, "three warps of the last block are idle")
    yield "tail_f32x4", copy(4 * 77, F32, "128-bit with a tail", vector=4)


def gather(
    index: np.ndarray, why: str, *, dtype: torch.dtype = F32, vector: int = 1, block: int = 128,
) -> Case:  # fmt: skip
    """Make a case of y[i] = x[index[i]], in units of `vector` elements."""
    size = (int(index.max()) + 1) * vector

    def make():
        x = numbers(size + 64, dtype)[:size]
        return x, tensor(index), untouched(len(index) * vector, dtype)

    reference = functools.partial(gathered, vector=vector)
    return Case(kernels.gather, make, reference, why, (vector, block))


def scatter(
    index: np.ndarray, why: str, *, dtype: torch.dtype = F32, vector: int = 1, block: int = 128
) -> Case:
    """Make a case of y[index[i]] = values derived from the index."""
    size = (int(index.max()) + 1) * vector
    reference = functools.partial(scattered, vector=vector)
    return Case(kernels.scatter, lambda: (tensor(index), untouched(size, dtype)), reference, why,
                (vector, block))  # fmt: skip


def patterns() -> Iterator[tuple[str, Case]]:
    n = np.arange(1024, dtype=np.int32)
    yield "gather_same", gather(n * 0, "one address for all lanes, known only at run time")
    yield "gather_rows", gather(n // 32, "a different address per warp")
    yield "gather_halves", gather(n // 16 * 16, "half-warps share an address, 64 bytes apart")
    yield "gather_pairs", gather(n // 2, "neighbours share an address")
    yield "gather_reversed", gather(n[::-1].copy(), "descending addresses")
    yield "gather_permuted", gather(permutation(1, 1024), "scattered, each element once")
    yield "gather_random", gather(random(2, 1024, 1 << 16), "scattered widely")
    yield "gather_masked", gather(random(3, 1024, 1 << 12, active=0.3), "random lanes are idle")
    yield "gather_few", gather(only((0, 13, 31), LANE * 5), "three lanes of one warp", block=32)
    yield "gather_nobody", gather(np.where(n < 512, n, OUT), "16 whole warps skip the load")
    widths = (("16", F16, 1), ("32", F32, 1), ("64", F32, 2), ("128", F32, 4), ("128h", F16, 8))
    for name, dtype, vector in widths:
        for below in (16, 64, 1024):
            kind = {"dtype": dtype, "vector": vector}
            index = random(below + vector, 512, below)
            why = "do lanes far apart in the warp share sectors?"
            yield f"gather{name}_below{below}", gather(index, why, **kind)
            if below > 16:
                far = random(below, 512, below, active=0.6)
                yield f"scatter{name}_below{below}", scatter(far, why + " (stores)", **kind)
    wide = {"vector": 4, "block": 32}
    yield "gather128_same", gather(LANE * 0, "one 128-bit unit for all lanes", **wide)
    yield "gather128_quarters", gather(LANE % 8, "quarter-warps load the same 128 bytes", **wide)
    yield "gather128_pairs", gather(LANE // 2, "neighbours share 16 bytes", **wide)
    yield "gather128_spread", gather(LANE * 2, "one unit per sector", **wide)
    why = "sectors shared by lanes 4 apart"
    yield "gather128_odd", gather(LANE % 4 * 8 + LANE // 4, why, **wide)
    yield "gather128_pitch80", gather(LANE * 5, "rows 80 bytes apart", **wide)
    yield "gather128_few", gather(only((0, 9, 30)), "three lanes", **wide)
    yield "gather64_halves", gather(LANE % 16, "both half-warps load the same 128 bytes",
                                    vector=2, block=32)  # fmt: skip
    yield "scatter_same", scatter(LANE * 0, "all lanes store to one address", block=32)
    yield "scatter_permuted", scatter(permutation(4, 1024), "every element once")
    yield "scatter128_quarters", scatter(LANE % 8, "all quarters store to 128 bytes", **wide)
    yield "scatter128_spread", scatter(LANE * 2, "half of every sector", **wide)


def atomics(index: np.ndarray, how: str, dtype: torch.dtype, why: str, block: int = 128) -> Case:
    """Make a case of y[index[i]] += v[i]; how: see the kernel."""
    cells = int(index.max()) + 1

    def make():
        return (numbers(len(index), dtype), tensor(index), torch.zeros(cells, dtype=dtype),
                untouched(len(index), dtype))  # fmt: skip

    def reference(v: torch.Tensor, idx: torch.Tensor, y: torch.Tensor, old: torch.Tensor):
        return y.index_add(0, idx[idx >= 0].long(), v[idx >= 0])

    return Case(kernels.atomics, make, reference, why, (how, block), result=2)


def atomic_cases() -> Iterator[tuple[str, Case]]:
    n = np.arange(256, dtype=np.int32)
    shapes = {"same": n * 0, "own": n, "stride8": n * 8, "two": n % 2, "random": random(5, 256, 64),
              "masked": random(6, 256, 512, active=0.5)}  # fmt: skip
    for how in ("atom", "unused", "red"):
        for kind, dtype in (("i32", I32), ("f32", F32)):
            for shape, index in shapes.items():
                if how == "unused" and shape not in ("same", "own", "random"):
                    continue
                why = f"{shape} addresses; the compiler may turn an unused atom into red"
                yield f"{how}_{kind}_{shape}", atomics(index, how, dtype, why)

    yield "red_uniform", Case(
        kernels.count_all, lambda: (torch.zeros(1, dtype=I32),),
        lambda y: torch.tensor([512], dtype=I32),
        "known address and value: the compiler first adds up each warp's threads", (4,),
    )  # fmt: skip


def plane(m: int, n: int, pitch: int, why: str) -> Case:
    def make():
        return numbers(m * pitch, F32).view(m, pitch)[:, :n], untouched(m * n, F32).view(m, n)

    return Case(kernels.plane, make, lambda x, y: x.contiguous(), why)


def vectors(read: int, written: int) -> Callable[[], Tensors]:
    return lambda: (numbers(read, F32), untouched(written, F32))


def others() -> Iterator[tuple[str, Case]]:
    why = "blocks of 16 by 16: a warp reads two rows of 64 bytes"
    yield "plane_64x48", plane(64, 48, 48, why)
    why = "pitch 33: rows begin anywhere in a sector, and columns have a tail"
    yield "plane_pitch33", plane(40, 20, 33, why)
    yield "broadcast_block", Case(
        kernels.broadcast, vectors(8, 1024), lambda x, y: x.repeat_interleave(128),
        "the compiler knows that the address depends only on the block",
    )  # fmt: skip
    for load, store in (("ca", "wb"), ("cg", "cg"), ("cs", "cs"), ("cv", "wt"), ("lu", "wb")):
        yield f"modifiers_{load}_{store}", Case(
            kernels.modifiers, vectors(512, 512), lambda x, y: x, f"ld.{load}, st.{store}",
            (load, store),
        )  # fmt: skip


CASES: dict[str, Case] = dict([*copies(), *patterns(), *atomic_cases(), *others()])
