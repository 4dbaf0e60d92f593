"""Compare the virtual GPU with a real GPU: the same kernels on the same bits.

    python -m tests.vgpu.parity --out tests/vgpu/golden/parity.json     (on a machine with a GPU)

writes the hardware's results; `test_parity.py` compares the virtual GPU with them on any machine.
For exact operations, it stores digests of the result bits; for approximate operations, it stores
the bits themselves.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass import BFloat16, Float16, Float32, Int32, Int64, Uint8, Uint32

import forgekit as fk

N = 4096
N_APPROXIMATE = 1024
GOLDEN = Path(__file__).parent / "golden" / "parity.json"


@cute.kernel
def unary_kernel(mX: cute.Tensor, mY: cute.Tensor, op: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < mX.shape[0]:
        mY[i] = op(mX[i])


@cute.jit
def unary(mX: cute.Tensor, mY: cute.Tensor, op: cutlass.Constexpr):
    unary_kernel(mX, mY, op).launch(grid=(cute.ceil_div(mX.shape[0], 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def binary_kernel(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor, op: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < mA.shape[0]:
        mY[i] = op(mA[i], mB[i])


@cute.jit
def binary(mA: cute.Tensor, mB: cute.Tensor, mY: cute.Tensor, op: cutlass.Constexpr):
    binary_kernel(mA, mB, mY, op).launch(
        grid=(cute.ceil_div(mA.shape[0], 128), 1, 1), block=(128, 1, 1)
    )


@dataclass(frozen=True)
class Case:
    """An operation: its function in the kernel, its input types, result type and kind of inputs."""

    op: Callable[..., Any]
    inputs: tuple[torch.dtype, ...]
    result: torch.dtype
    exact: bool = True
    values: str = "bits"


F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
I32, I64, U8 = torch.int32, torch.int64, torch.uint8


def fast(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(cute.math, name)(x, fastmath=True)


CASES: dict[str, Case] = {
    "add f32": Case(lambda a, b: a + b, (F32, F32), F32),
    "sub f32": Case(lambda a, b: a - b, (F32, F32), F32),
    "mul f32": Case(lambda a, b: a * b, (F32, F32), F32),
    "div f32": Case(lambda a, b: a / b, (F32, F32), F32),
    # The compiler turns this expression into one fma.rn.f32.
    "fma f32": Case(lambda a, b: a * b + Float32(0.3), (F32, F32), F32),
    "fma f32 near": Case(lambda a, b: a * b + Float32(0.3), (F32, F32), F32, values="near one"),
    "fmax f32": Case(cute.arch.fmax, (F32, F32), F32),
    "min f32": Case(lambda a, b: cutlass.min(a, b), (F32, F32), F32),
    "neg f32": Case(lambda a: -a, (F32,), F32),
    "add f16": Case(lambda a, b: a + b, (F16, F16), F16),
    "mul f16": Case(lambda a, b: a * b, (F16, F16), F16),
    "add bf16": Case(lambda a, b: a + b, (BF16, BF16), BF16),
    "mul bf16": Case(lambda a, b: a * b, (BF16, BF16), BF16),
    "f32 to f16": Case(lambda a: a.to(Float16), (F32,), F16),
    "f32 to bf16": Case(lambda a: a.to(BFloat16), (F32,), BF16),
    "f16 to f32": Case(lambda a: a.to(Float32), (F16,), F32),
    "bf16 to f32": Case(lambda a: a.to(Float32), (BF16,), F32),
    "f32 to i32": Case(lambda a: a.to(Int32), (F32,), I32),
    "f32 to i32 near": Case(lambda a: a.to(Int32), (F32,), I32, values="integers"),
    "i32 to f32": Case(lambda a: a.to(Float32), (I32,), F32),
    "u8 to f32": Case(lambda a: a.to(Float32), (U8,), F32),
    "f32 to u8": Case(lambda a: a.to(Uint8), (F32,), U8, values="bytes"),
    "i64 to f32": Case(lambda a: a.to(Float32), (I64,), F32),
    "i32 to i64": Case(lambda a: a.to(Int64), (I32,), I64),
    "add i32": Case(lambda a, b: a + b, (I32, I32), I32),
    "mul i32": Case(lambda a, b: a * b, (I32, I32), I32),
    "mul i64": Case(lambda a, b: a * b, (I64, I64), I64),
    "floordiv i32": Case(lambda a, b: a // b, (I32, I32), I32, values="divisors"),
    "mod i32": Case(lambda a, b: a % b, (I32, I32), I32, values="divisors"),
    "and or xor i32": Case(lambda a, b: ((a & b) | (a ^ 12345)) ^ b, (I32, I32), I32),
    "shift i32": Case(lambda a, b: (a << 3) + (b >> 5), (I32, I32), I32),
    "less f32": Case(lambda a, b: Int32(a < b), (F32, F32), I32),
    "unsigned less": Case(lambda a, b: Int32(Uint32(a) < Uint32(b)), (I32, I32), I32),
    "exp fast": Case(fast("exp"), (F32,), F32, exact=False, values="moderate"),
    "exp": Case(cute.math.exp, (F32,), F32, exact=False, values="moderate"),
    "exp2 fast": Case(fast("exp2"), (F32,), F32, exact=False, values="moderate"),
    "log2 fast": Case(fast("log2"), (F32,), F32, exact=False, values="positive"),
    "sqrt fast": Case(fast("sqrt"), (F32,), F32, exact=False, values="positive"),
    "rsqrt fast": Case(fast("rsqrt"), (F32,), F32, exact=False, values="positive"),
    "rcp fast": Case(cute.arch.rcp_approx, (F32,), F32, exact=False, values="positive"),
    "sin fast": Case(fast("sin"), (F32,), F32, exact=False, values="angle"),
    "cos fast": Case(fast("cos"), (F32,), F32, exact=False, values="angle"),
    "tanh fast": Case(fast("tanh"), (F32,), F32, exact=False, values="small"),
}

SPECIAL_F32 = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38],
    np.float32,
)


def inputs(case: Case) -> list[torch.Tensor]:
    """Return a case's seeded inputs, generated on the CPU, because NumPy's PCG64 is the same on
    every machine."""
    rng = np.random.Generator(np.random.PCG64(2026))
    n = N if case.exact else N_APPROXIMATE
    return [_draw(rng, dtype, case.values, n, i) for i, dtype in enumerate(case.inputs)]


def _draw(rng: Any, dtype: torch.dtype, values: str, n: int, position: int) -> torch.Tensor:
    bits = rng.integers(0, 2**64, n, np.uint64)
    if dtype == F32 and values != "bits":
        unit = rng.random(n)
        drawn = {
            "near one": 1 + (unit - 0.5) * 2**-9,
            "integers": np.round((unit - 0.5) * 2**33) + rng.choice([-0.5, 0, 0.5], n),
            "bytes": unit * 255,
            "moderate": (unit - 0.5) * 160,
            "positive": np.exp2((unit - 0.5) * 200),
            "angle": (unit - 0.5) * 2 * np.pi,
            "small": (unit - 0.5) * 10,
        }[values].astype(np.float32)
        return torch.from_numpy(drawn)
    if dtype == F32:
        drawn = (bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
        specials = np.roll(np.tile(SPECIAL_F32, 40)[: n // 10], 3 * position)
        return torch.from_numpy(np.concatenate([specials, drawn[len(specials) :]]))
    if values == "divisors" and position == 1:
        drawn = np.where(bits & 1, (bits >> np.uint64(8)) % 1000 + 1, bits >> np.uint64(33)) + 1
        signed = drawn.astype(np.int64) * np.where(bits & 2, -1, 1)
        return torch.from_numpy(signed.astype(np.int32))
    whole = {F16: np.uint16, BF16: np.uint16, I32: np.int32, I64: np.int64, U8: np.uint8}[dtype]
    return torch.from_numpy(bits.astype(whole)).view(dtype)


def result_bits(case: Case, device: str) -> np.ndarray:
    """Return the case's result on `device` as unsigned integers, with one pattern for all NaNs."""
    with fk.use_target(device):
        given = [x.to(fk.device) for x in inputs(case)]
        y = torch.zeros(len(given[0]), dtype=case.result, device=fk.device)
        host = unary if len(given) == 1 else binary
        fk.compile(host, *given, y, case.op)(*given, y)
    return bits_of(y.cpu())


def bits_of(y: torch.Tensor) -> np.ndarray:
    """Convert to unsigned integers; every NaN becomes all ones."""
    nan = y.isnan().numpy() if y.is_floating_point() else np.zeros(y.shape, bool)
    width = y.element_size()
    bits = y.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]).numpy()
    bits = bits.view(f"u{width}").copy()
    bits[nan] = np.iinfo(bits.dtype).max
    return bits


def digest(bits: np.ndarray) -> str:
    return hashlib.sha256(bits.tobytes()).hexdigest()


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distance between two float32 bit patterns, in units in the last place."""

    def ordered(bits: np.ndarray) -> np.ndarray:
        signed = bits.astype(np.int64)
        return np.where(signed >= 2**31, 2**31 - signed, signed)

    return np.abs(ordered(a) - ordered(b))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=GOLDEN)
    chosen = parser.parse_args()
    name = torch.cuda.get_device_name()
    cases: dict[str, dict[str, Any]] = {}
    for title, case in CASES.items():
        real, virtual = result_bits(case, "gpu"), result_bits(case, "virtual")
        same = int((real == virtual).sum())
        if case.exact:
            cases[title] = {"sha256": digest(real)}
            line = f"{same} of {len(real)} equal"
            for i in np.flatnonzero(real != virtual)[:3]:
                given = [x[i].item() for x in inputs(case)]
                line += f"\n    {given}: GPU {real[i]:#x}, virtual {virtual[i]:#x}"
        else:
            worst = int(ulps(real, virtual).max())
            cases[title] = {"bits": real.tolist(), "max_ulp_difference": worst}
            line = f"{same} of {len(real)} equal, at most {worst} ulp apart"
        print(f"{title:16s} {line}")
    record = {
        "about": f"Results of {name}, CuTe DSL 4.8.1, sm_90a; see tests/vgpu/parity.py",
        "cases": cases,
    }
    chosen.out.parent.mkdir(exist_ok=True)
    chosen.out.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
