"""Start a kernel while the previous kernel of its stream ends; pure CuTe DSL."""

import cutlass
import cutlass.cute as cute
from cutlass import const_expr


@cute.jit
def follow(overlap: cutlass.Constexpr, early: cutlass.Constexpr = False) -> None:
    """Wait for the previous kernel's results. Call it before the first access to global memory.

    overlap: True in a kernel that is launched with `use_pdl=True` ("programmatic dependent launch",
    sm_90 and later): it starts while the previous kernel's last blocks end, which saves 0.2 to 0.4
    us per launch on an H200 (2026-11-24). early: allow the next kernel to start at once. Its
    waiting blocks take places on the SMs: where they are many, sums of 33 x 2**22 bfloat16 become
    38 % slower; where they are few, sums of 2**18 elements become 10 % faster.
    """
    if const_expr(overlap):
        cute.arch.griddepcontrol_wait()
        if const_expr(early):
            cute.arch.griddepcontrol_launch_dependents()
