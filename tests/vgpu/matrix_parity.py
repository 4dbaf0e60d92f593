"""Compare the virtual GPU's tensor cores with a real GPU's: the same instructions, bit by bit.

    python -m tests.vgpu.matrix_parity     (on a machine with a GPU)

writes the hardware's results to golden/matrix.npz; `test_matrix_parity.py` compares the virtual GPU
with them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, Uint8
from cutlass.cute.nvgpu import warp, warpgroup

import forgekit as fk
import forgekit.vgpu
from tests.vgpu.kernels import matrix, wgmma
from tests.vgpu.parity import bits_of

GOLDEN = Path(__file__).parent / "golden" / "matrix.npz"
F32, F16, BF16, I32 = torch.float32, torch.float16, torch.bfloat16, torch.int32
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
# The number of bits in the exponent and in the fraction.
FIELDS = {F16: (5, 10), BF16: (8, 7), F32: (8, 23), E4M3: (4, 3), E5M2: (5, 2)}


@dataclass(frozen=True)
class Case:
    """A kind of `mma` or `wgmma`: its operation, the type of A and B, and the type of C and D.
    wgmma: a function that makes the operation from its shape, A's location and the orientations of
    A and B, because CuTe DSL allows the operation only for one architecture."""

    op: Any
    inputs: torch.dtype
    sums: torch.dtype
    wgmma: Callable[..., Any] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.op if self.wgmma is not None else self.op.shape_mnk

    def run(self, a: Any, b: Any, c: Any, d: Any) -> None:
        specs = [fk.spec(t, static=True) for t in (a, b, c, d)]
        if self.wgmma is None:
            fk.compile(matrix.one_mma, *specs, self.op)(a, b, c, d)
        else:
            op = self.wgmma(self.op, wgmma.SMEM, wgmma.K, wgmma.K)
            fk.compile(wgmma.product, *specs, op, (32, 32))(a, b, c, d)


CASES = {
    **{f"f16 k{k}": Case(warp.MmaF16BF16Op(Float16, Float32, (16, 8, k)), F16, F32)
       for k in (8, 16)},
    **{f"f16 to f16 k{k}": Case(warp.MmaF16BF16Op(Float16, Float16, (16, 8, k)), F16, F16)
       for k in (8, 16)},
    **{f"bf16 k{k}": Case(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, k)), BF16, F32)
       for k in (8, 16)},
    **{f"tf32 k{k}": Case(warp.MmaTF32Op((16, 8, k)), F32, F32) for k in (4, 8)},
    **{f"{name} to {sums} k{k}": Case(warp.MmaFP8Op(kind, acc, (16, 8, k)), dtype, out)
       for name, kind, dtype in (("e4m3", Float8E4M3FN, E4M3), ("e5m2", Float8E5M2, E5M2))
       for sums, acc, out in (("f32", Float32, F32), ("f16", Float16, F16)) for k in (16, 32)},
    **{f"{name} k{k}": Case(matrix.MmaInt8Op(signed, (16, 8, k)), dtype, I32)
       for name, signed, dtype in (("s8", True, torch.int8), ("u8", False, torch.uint8))
       for k in (16, 32)},
}  # fmt: skip


def _wgmma(of: Any, *kinds: Any) -> Callable[..., Any]:
    return lambda shape, *places: of(*kinds, shape, *places)


WGMMA = {
    "f16": (16, _wgmma(warpgroup.MmaF16BF16Op, Float16, Float32), F16, F32),
    "f16 to f16": (16, _wgmma(warpgroup.MmaF16BF16Op, Float16, Float16), F16, F16),
    "bf16": (16, _wgmma(warpgroup.MmaF16BF16Op, BFloat16, Float32), BF16, F32),
    "tf32": (8, lambda shape, source, *_: wgmma.MmaTF32Op(shape, source), F32, F32),
    **{f"{name} to {sums}": (32, _wgmma(warpgroup.MmaF8Op, kind, kind, acc), dtype, out)
       for name, kind, dtype in (("e4m3", Float8E4M3FN, E4M3), ("e5m2", Float8E5M2, E5M2))
       for sums, acc, out in (("f32", Float32, F32), ("f16", Float16, F16))},
    "s8": (32, _wgmma(warpgroup.MmaI8Op, Int8, Int8, Int32), torch.int8, I32),
    "u8": (32, _wgmma(warpgroup.MmaI8Op, Uint8, Uint8, Int32), torch.uint8, I32),
}  # fmt: skip
CASES |= {  # B has at least 128 elements, because each thread stores a part of it
    f"wgmma {name}": Case((64, max(8, 128 // k), k), inputs, sums, make)
    for name, (k, make, inputs, sums) in WGMMA.items()
}


# -- inputs ---------------------------------------------------------------------------------------
def codes(sign: np.ndarray, exponent: np.ndarray, fraction: np.ndarray, kind: torch.dtype):
    """Return unsigned codes of a type from 64 random bits per field, truncated to its width."""
    e, f = FIELDS[kind]
    bits = (sign & 1) << (e + f) | (exponent & ((1 << e) - 1)) << f | fraction & ((1 << f) - 1)
    return bits.astype(f"u{(1 + e + f) // 8}")


def numbers(rng: np.random.Generator, kind: torch.dtype, shape: tuple[int, ...], what: str):
    """Return codes of a floating-point type."""
    e, f = FIELDS[kind]
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    top -= kind is not E4M3  # the last exponent of finite numbers
    sign, fraction, any_exponent = (rng.integers(0, 2**62, shape) for _ in range(3))
    small = fraction & ((1 << (f - 1)) - 1)  # excludes e4m3's NaN
    if what == "normal":  # most within a factor of 16
        exponent = bias - np.minimum(rng.geometric(0.5, shape) - 1, min(bias - 1, 12))
        return codes(sign, exponent, small if exponent.max() == top else fraction, kind)
    if what == "far":  # all finite numbers, a fifth of them zero
        exponent = any_exponent % (top + 1)
        drawn = codes(sign, exponent, np.where(exponent == top, small, fraction), kind)
        return np.where(rng.random(shape) < 0.2, drawn.dtype.type(0), drawn)
    if what == "special":  # also infinities and NaN
        drawn = numbers(rng, kind, shape, "far")
        last = -1 if kind is E4M3 else fraction * (sign >> 1 & 1)  # e4m3 has one NaN
        wild = codes(sign, np.full(shape, (1 << e) - 1), last, kind)
        return np.where(rng.random(shape) < 0.02, wild, drawn)
    if what == "subnormal":
        return codes(sign, (any_exponent & 7 == 0).astype(np.int64), fraction, kind)
    if what == "zeros":
        return codes(sign, np.zeros(shape, np.int64), fraction * (any_exponent & 15 == 0), kind)
    if what == "large":
        return codes(sign, np.full(shape, top), small, kind)
    assert what == "whole"  # small whole numbers: results are exact
    values = torch.from_numpy(rng.integers(-8, 9, shape).astype(np.float32)).to(kind)
    whole = values.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[kind.itemsize]).numpy()
    return whole.view(f"u{kind.itemsize}")


# The kinds of values of A, B and C in each warp.
WARPS = [("normal", "normal", "normal"), ("normal", "normal", "zeros"), ("normal", "normal", "far"),
         ("far", "far", "far"), ("far", "far", "zeros"), ("special", "special", "special"),
         ("special", "normal", "normal"), ("subnormal", "subnormal", "subnormal"),
         ("subnormal", "large", "subnormal"), ("zeros", "far", "subnormal"),
         ("large", "large", "large"), ("whole", "whole", "whole")]  # fmt: skip


def inputs(case: Case) -> list[torch.Tensor]:
    """Return every warp's A, B and C, generated on the CPU, because NumPy's PCG64 is the same on
    every machine."""
    rng = np.random.Generator(np.random.PCG64(2026))
    m, n, k = case.shape
    shapes, kinds = ((m, k), (n, k), (m, n)), (case.inputs, case.inputs, case.sums)
    result = []
    for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True)):
        if kind in FIELDS:
            drawn = np.stack([numbers(rng, kind, shape, what[i]) for what in WARPS])
        else:
            limits = torch.iinfo(kind)
            drawn = rng.integers(
                limits.min, limits.max, (len(WARPS), *shape), np.int64, endpoint=True
            )
            drawn = drawn.astype(str(kind).removeprefix("torch."))
        signed = drawn.view(f"i{drawn.itemsize}") if kind != torch.uint8 else drawn
        result.append(torch.from_numpy(np.ascontiguousarray(signed)).view(kind))
    return result


# -- results --------------------------------------------------------------------------------------
def result_bits(case: Case, device: str) -> np.ndarray:
    """Return every warp's D, computed on `device`, as unsigned integers, with one pattern for all
    NaNs; for wgmma, return only every fourth row."""
    # CuTe DSL must know the architecture before it makes a warpgroup's operation.
    known = forgekit.vgpu.installed("sm_90a") if device == "virtual" else nullcontext()
    with fk.use_target(device), known:
        given = [x.to(fk.device) for x in inputs(case)]
        d = torch.full_like(given[2], 77)
        case.run(*given, d)
    bits = bits_of(d.cpu())
    return bits if case.wgmma is None else bits[:, ::4]  # every fourth row


MOVES = [(store, count, transposed) for store in (False, True) for count in (1, 2, 4)
         for transposed in (False, True)]  # fmt: skip


def moved(store: bool, count: int, transposed: bool, device: str) -> np.ndarray:
    """Return a (32, 8) array: each lane's values from `ldmatrix`, or each row from `stmatrix`."""
    with fk.use_target(device):
        x = torch.arange(256, dtype=torch.int16).view(32, 8).to(fk.device)
        y = torch.full_like(x, -1)
        specs = [fk.spec(t, static=True) for t in (x, y)]
        fk.compile(matrix.move, *specs, store, count, transposed)(x, y)
    return y.cpu().numpy().view(np.uint16)


def everything(device: str) -> dict[str, np.ndarray]:
    """Return a dict of all results of a device."""
    found = {name: result_bits(case, device) for name, case in CASES.items()}
    for store, count, transposed in MOVES:
        name = f"{'st' if store else 'ld'}matrix x{count}{' trans' * transposed}"
        found[name] = moved(store, count, transposed, device)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=GOLDEN)
    chosen = parser.parse_args()
    real, virtual = everything("gpu"), everything("virtual")
    for name, bits in real.items():
        wrong = np.argwhere(bits != virtual[name])
        print(f"{name:20s} {bits.size - len(wrong)} of {bits.size} equal")
        for at in wrong[:: max(len(wrong) // 6, 1)][:6]:
            place = tuple(int(i) for i in at)
            what = WARPS[place[0]] if len(place) == 3 else ""
            print(f"    {place} {what}: GPU {bits[place]:#x}, virtual {virtual[name][place]:#x}")
    chosen.out.parent.mkdir(exist_ok=True)
    about = f"{torch.cuda.get_device_name()}, CuTe DSL 4.8.1; see tests/vgpu/matrix_parity.py"
    np.savez_compressed(chosen.out, about=np.array(about), **real)
    print(f"{chosen.out}: {chosen.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
