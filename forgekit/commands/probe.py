"""One tiny kernel, compiled, run and checked, for `forgekit doctor`.

By itself: `python -P -m forgekit.commands.probe`.
"""

import time

import cutlass.cute as cute
import torch

import forgekit as fk

__all__ = ["run_probe"]

THREADS = 8


@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor):  # type: ignore[no-untyped-def]
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx]


@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor):  # type: ignore[no-untyped-def]
    copy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def run_probe() -> float:
    """Compile and run a copy of eight numbers where kernels run; returns the seconds it took.

    Raises ForgekitError where it cannot be compiled or run, or copies wrongly.
    """
    x = fk.arange(THREADS, dtype=torch.float32)
    y = fk.zeros(THREADS, dtype=torch.float32)
    start = time.perf_counter()
    fk.compile(copy, x, y)(x, y)
    y = y.cpu()
    elapsed_s = time.perf_counter() - start
    fk.check(y, x.cpu())
    return elapsed_s


if __name__ == "__main__":
    print(f"{run_probe():.3f}")
