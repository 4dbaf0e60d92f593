"""Test names in messages about endless loops, waiting lanes, and kernels with non-ASCII names."""

import cutlass
import cutlass.cute as cute
import pytest
import torch
from cutlass import Int32, Int64
from cutlass.cute.runtime import from_dlpack

import forgekit as fk
from forgekit import vgpu
from forgekit.vgpu.errors import DeadlockError, InstructionBudgetError, UsageError


@cute.kernel
def spin_kernel(mY: cute.Tensor):
    i = Int32(0)
    while i >= 0:
        i = (i + 1) & 7
    mY[0] = Int64(i)


@cute.jit
def spin(mY: cute.Tensor):
    spin_kernel(mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def wait_kernel(mY: cute.Tensor):
    while cute.arch.atomic_add(mY.iterator, Int64(0)) == 0:
        pass


@cute.jit
def wait(mY: cute.Tensor):
    wait_kernel(mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def größe_kernel(mY: cute.Tensor):
    mY[0] = Int64(1)


@cute.jit
def write(mY: cute.Tensor):
    größe_kernel(mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def plain_kernel(mY: cute.Tensor, n: cutlass.Constexpr):
    mY[0] = Int64(n)


@cute.jit
def größe(mY: cute.Tensor):
    plain_kernel(mY, 5).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def warp_index_in_a_branch_kernel(mY: cute.Tensor):
    """warp_idx() is a shuffle, but only one lane of the warp calls it."""
    if cute.arch.lane_idx() == 0:
        mY[cute.arch.warp_idx()] = Int64(1)
    cute.arch.sync_threads()


@cute.jit
def warp_index_in_a_branch(mY: cute.Tensor):
    warp_index_in_a_branch_kernel(mY).launch(grid=(1, 1, 1), block=(64, 1, 1))


class Größe:
    @cute.jit
    def __call__(self, mY: cute.Tensor):
        self.kernel(mY).launch(grid=(1, 1, 1), block=(32, 1, 1))

    @cute.kernel
    def kernel(self, mY: cute.Tensor):
        mY[0] = Int64(1)


@pytest.fixture
def y() -> torch.Tensor:
    return torch.zeros(2, dtype=torch.int64)


# The compiler reduces `spin` to an empty loop, with the line number after the function.
@pytest.mark.parametrize("host, named", [(spin, "an empty loop in kernel_cutlass_spin_kernel"),
                                        (wait, "while cute.arch.atomic_add")])  # fmt: skip
def test_an_endless_loop_names_a_line_of_the_kernel(host, named, y):
    compiled = fk.compile(host, y, device="virtual")
    for budget in range(20, 30):  # stop at any point in the loop
        with vgpu.options(budget=budget), pytest.raises(InstructionBudgetError, match=named):
            compiled(y)


def test_a_warp_instruction_that_part_of_a_warp_calls(y):
    with pytest.raises(DeadlockError) as caught:
        fk.compile(warp_index_in_a_branch, y, device="virtual")(y)
    message = str(caught.value)
    assert "shfl.sync.idx.b32 for lanes of its warp at other instructions, test_stuck" in message
    assert (
        "cute.arch.warp_idx() contains a shuffle of the whole warp: call it before the `if`"
        in message
    )


@pytest.mark.parametrize("fn, name", [(write, "größe_kernel"), (Größe(), "Größe")])
def test_kernel_names_beyond_ascii(fn, name, y):
    with pytest.raises(UsageError, match=f"got '{name}', needed ASCII letters"):
        fk.compile(fn, y, device="virtual")
    with vgpu.installed(), pytest.raises(UsageError, match="needed ASCII letters"):
        cute.compile(fn, from_dlpack(y))


def test_other_names_may_have_any_letters(y):
    fk.compile(größe, y, device="virtual")(y)
    assert y[0] == 5
