"""Tiles from a TV layout, an identity tensor for the guard, vector copies; sizes from argparse."""

import argparse

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(
    gA: cute.Tensor,
    gB: cute.Tensor,
    gC: cute.Tensor,
    cC: cute.Tensor,
    shape: cute.Shape,
    thr: cute.Layout,
    val: cute.Layout,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    tile = ((None, None), bidx)
    load = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type)
    tiled = cute.make_tiled_copy_tv(load, thr, val).get_slice(tidx)
    tAgA, tBgB, tCgC = (
        tiled.partition_S(gA[tile]),
        tiled.partition_S(gB[tile]),
        tiled.partition_S(gC[tile]),
    )
    tCcC = tiled.partition_S(cC[tile])
    tArA, tBrB, tCrC = (cute.make_fragment_like(t) for t in (tAgA, tBgB, tCgC))
    pred = cute.make_rmem_tensor(tCrC.shape, cutlass.Boolean)
    for i in range(cute.size(pred)):
        pred[i] = cute.elem_less(tCcC[i], shape)
    cute.copy(load, tAgA, tArA, pred=pred)
    cute.copy(load, tBgB, tBrB, pred=pred)
    tCrC.store(tArA.load() + tBrB.load())
    cute.copy(load, tCrC, tCgC, pred=pred)


@cute.jit
def add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, bits: cutlass.Constexpr = 128):
    vector = bits // mA.element_type.width
    thr = cute.make_ordered_layout((4, 32), order=(1, 0))
    val = cute.make_ordered_layout((4, vector), order=(1, 0))
    tiler, _ = cute.make_layout_tv(thr, val)
    gA, gB, gC = (cute.zipped_divide(t, tiler) for t in (mA, mB, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mC.shape), tiler)
    add_kernel(gA, gB, gC, cC, mC.shape, thr, val).launch(
        grid=[cute.size(gC, mode=[1]), 1, 1], block=[cute.size(thr), 1, 1]
    )


def run(m: int, n: int, dtype: torch.dtype) -> None:
    a = torch.randn(m, n, device="cuda").to(dtype)
    b = torch.randn(m, n, device=torch.device("cuda")).to(dtype)
    c = torch.full((m, n), float("nan"), device="cuda:0", dtype=dtype)
    a_, b_, c_ = (from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (a, b, c))
    compiled = cute.compile(add, a_, b_, c_)
    compiled(a_, b_, c_)
    torch.testing.assert_close(a + b, c)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--M", default=33, type=int)
    parser.add_argument("--N", default=264, type=int)
    args = parser.parse_args()
    for dtype in (torch.float32, torch.bfloat16):
        run(args.M, args.N, dtype)
    print("PASS")
