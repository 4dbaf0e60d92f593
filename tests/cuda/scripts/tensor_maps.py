"""TMA maps from make_tiled_tma_atom for several types, swizzles and sizes, and from the driver."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack
from cutlass.experimental import cuda
from cutlass.experimental import primitives as prims

THREADS = 64
SWIZZLES = {0: (0, 4, 3), 32: (1, 4, 3), 64: (2, 4, 3), 128: (3, 4, 3)}


@cute.kernel
def flip_kernel(
    load: cute.CopyAtom, mX: cute.Tensor, store: cute.CopyAtom, mY: cute.Tensor,
    layout: cute.ComposedLayout, shape: cutlass.Constexpr,
):  # fmt: skip
    """Load each tile, reverse the order of its rows, and store it."""
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    dtype = load.value_type
    sX = smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
    sY = smem.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
    full = smem.allocate_array(cutlass.Int64, 1)
    whole = cute.make_layout(1)
    gX, gY = cute.local_tile(mX, shape, (bx, by)), cute.local_tile(mY, shape, (bx, by))
    tile, part = cpasync.tma_partition(
        load, 0, whole, cute.group_modes(sX, 0, 2), cute.group_modes(gX, 0, 2)
    )
    out, to = cpasync.tma_partition(
        store, 0, whole, cute.group_modes(sY, 0, 2), cute.group_modes(gY, 0, 2)
    )
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if tidx == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        cpasync.prefetch_descriptor(load)
        with cute.arch.elect_one():
            size = cute.size_in_bytes(dtype, layout.outer)
            cute.arch.mbarrier_arrive_and_expect_tx(full, size)
        cute.copy(load, part, tile, tma_bar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    for i in range(tidx, shape[0] * shape[1], THREADS):
        row, column = i // shape[1], i % shape[1]
        sY[shape[0] - 1 - row, column] = sX[row, column]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp == 0:
        cute.copy(store, out, to)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def flip(mX: cute.Tensor, mY: cute.Tensor, rows: cutlass.Constexpr, span: cutlass.Constexpr):
    columns = (span or 128) * 8 // mX.element_type.width
    shape = (rows, columns)
    plain = cute.make_layout(shape, stride=(columns, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(*SWIZZLES[span]), 0, plain)
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    loads, gX = cpasync.make_tiled_tma_atom(load, mX, layout, shape)
    stores, gY = cpasync.make_tiled_tma_atom(store, mY, layout, shape)
    grid = cute.ceil_div(mX.shape[0], rows), cute.ceil_div(mX.shape[1], columns), 1
    flip_kernel(loads, gX, stores, gY, layout, shape).launch(grid=grid, block=(THREADS, 1, 1))


def flipped(x, rows, span):
    """Return each tile's rows in reverse order; rows outside the tensor are read as zeros and not
    stored."""
    high = -(-x.shape[0] // rows) * rows
    wide = torch.zeros(high, x.shape[1], dtype=x.dtype)
    wide[: x.shape[0]] = x.cpu()
    return wide.view(-1, rows, x.shape[1]).flip(1).reshape(high, -1)[: x.shape[0]]


for dtype, m, n, rows, span in (
    (torch.float16, 37, 136, 16, 128), (torch.float32, 16, 40, 8, 64), (torch.int8, 20, 48, 8, 32),
    (torch.bfloat16, 9, 64, 4, 0), (torch.float64, 16, 16, 16, 128),
):  # fmt: skip
    x = torch.randint(-100, 100, (m, n), device="cuda").to(dtype)
    y = torch.zeros_like(x)
    a, b = (from_dlpack(t, assumed_align=16) for t in (x, y))
    cute.compile(flip, a, b, rows, span)(a, b)
    assert torch.equal(y.cpu(), flipped(x, rows, span)), (dtype, span)


# -- with the driver's call, in three modes
# ----------------------------------------------------------
BOX = (16, 4, 2)  # the contiguous mode first


@cute.kernel
def box_kernel(tensor: cutlass.GridConstant[cuda.TensorMap], mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    tile = cutlass.Array(cutlass.Float32, 128, space=cutlass.AddressSpace.smem, alignment=128)
    full = cutlass.Array(cutlass.Int64, 1, space=cutlass.AddressSpace.smem, alignment=8)
    if tidx == 0:
        prims.mbarrier_init(full, 1)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)
    if tidx == 0:
        prims.mbarrier_arrive_expect_tx(full, tensor.global_tx_bytes())
        prims.cp_async_bulk_tensor_shared_cta_global(
            tile, tensor.get_ptr(), (cutlass.Int32(8), cutlass.Int32(-1), cutlass.Int32(2)), full
        )
    while not prims.mbarrier_try_wait_parity(full, 0):
        pass
    mY[tidx], mY[tidx + THREADS] = tile[tidx], tile[tidx + THREADS]


@cute.jit
def box(mX: cute.Tensor, mY: cute.Tensor):
    tensor = cuda.create_tensor_map_tiled(
        global_address=mX.iterator.toint(), dtype=cutlass.Float32,
        global_dims=[mX.shape[2], mX.shape[1], mX.shape[0]],
        global_strides=[mX.shape[2] * 4 // 16, mX.shape[2] * mX.shape[1] * 4 // 16],
        box_dims=list(BOX),
    )  # fmt: skip
    box_kernel(tensor, mY).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


x, y = torch.rand(3, 5, 16, device="cuda"), torch.empty(128, device="cuda")
a, b = from_dlpack(x, assumed_align=16), from_dlpack(y)
cute.compile(box, a, b)(a, b)
want = torch.zeros(2, 4, 16)
want[0, 1:, :8] = x.cpu()[2, :3, 8:]
assert torch.equal(y.cpu().view(2, 4, 16), want)
