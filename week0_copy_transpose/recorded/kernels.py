"""The kernels of notebook 09 as a separate program, which ncu and compute-sanitizer start.

    python kernels.py transposes --size 8192     scatter to padded_4, one launch each
    python kernels.py suspects --size 8192       the five kernels of exercise read_the_report
    python kernels.py turn --size 8192           exercise fix_the_turn, before and after
    python kernels.py bug race_shared            one of BUGS, kernels with a planted mistake
    python kernels.py timeline --out FILE        torch.profiler's trace of short and long kernels

It runs where forgekit runs kernels: on the GPU, or on the virtual GPU if there is none.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cutlass
import cutlass.cute as cute
import torch
from cuda.bindings.driver import CUstream
from cutlass import Float32

import forgekit as fk

TILE = 32


# -- transposes ----------------------------------------------------------------------------
@cute.kernel
def scatter_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy * TILE + tidy, bidx * TILE + tidx
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[col, row] = mX[row, col]


@cute.jit
def scatter(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    scatter_kernel(mX, mY).launch(grid=grid, block=(TILE, TILE, 1))


@cute.kernel
def tile_kernel(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(pitch, 1)), 128)
    row, col = bidy * TILE + tidy, bidx * TILE + tidx
    if row < mX.shape[0] and col < mX.shape[1]:
        sT[tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
    row, col = bidx * TILE + tidy, bidy * TILE + tidx  # of mY
    if row < mY.shape[0] and col < mY.shape[1]:
        mY[row, col] = sT[tidx, tidy]


@cute.jit
def tile(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr):
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    tile_kernel(mX, mY, pitch).launch(grid=grid, block=(TILE, TILE, 1))


@cute.jit
def tile_on(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr, stream: CUstream):
    """Launch the same kernel on PyTorch's current stream, so that a CUDA graph can record it."""
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    tile_kernel(mX, mY, pitch).launch(grid=grid, block=(TILE, TILE, 1), stream=stream)


@cute.kernel
def rows_kernel(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr,
                step: cutlass.Constexpr, reserved: cutlass.Constexpr):  # fmt: skip
    """tile_kernel with `TILE // step` elements per thread, in rows `step` apart."""
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(pitch, 1)), 128)
    if cutlass.const_expr(reserved > 0):  # words of shared memory that no thread uses
        smem.allocate_tensor(Float32, cute.make_layout(reserved), 128)
    col = bidx * TILE + tidx
    for k in cutlass.range_constexpr(TILE // step):
        row = bidy * TILE + k * step + tidy
        if row < mX.shape[0] and col < mX.shape[1]:
            sT[k * step + tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
    col = bidy * TILE + tidx  # of mY
    for k in cutlass.range_constexpr(TILE // step):
        row = bidx * TILE + k * step + tidy
        if row < mY.shape[0] and col < mY.shape[1]:
            mY[row, col] = sT[tidx, k * step + tidy]


@cute.jit
def rows(mX: cute.Tensor, mY: cute.Tensor, pitch: cutlass.Constexpr, step: cutlass.Constexpr,
         reserved: cutlass.Constexpr):  # fmt: skip
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    rows_kernel(mX, mY, pitch, step, reserved).launch(grid=grid, block=(TILE, step, 1))


# -- suspects: transposes with one problem or none -------------------------------------------------
@cute.kernel
def strided_load_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    row, col = bidy * TILE + tidx, bidx * TILE + tidy
    if row < mX.shape[0] and col < mX.shape[1]:
        mY[col, row] = mX[row, col]


@cute.jit
def strided_load(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    strided_load_kernel(mX, mY).launch(grid=grid, block=(TILE, TILE, 1))


@cute.kernel
def idle_lanes_kernel(mX: cute.Tensor, mY: cute.Tensor):
    """The first eight lanes of each warp do all the work, 8 columns at a time."""
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)), 128)
    if tidx < 8:
        row = bidy * TILE + tidy
        for k in cutlass.range_constexpr(4):
            col = bidx * TILE + 8 * k + tidx
            if row < mX.shape[0] and col < mX.shape[1]:
                sT[tidy, 8 * k + tidx] = mX[row, col]
    cute.arch.sync_threads()
    if tidx < 8:
        row = bidx * TILE + tidy  # of mY
        for k in cutlass.range_constexpr(4):
            col = bidy * TILE + 8 * k + tidx
            if row < mY.shape[0] and col < mY.shape[1]:
                mY[row, col] = sT[8 * k + tidx, tidy]


@cute.jit
def idle_lanes(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    idle_lanes_kernel(mX, mY).launch(grid=grid, block=(TILE, TILE, 1))


# -- a quarter turn: the start of exercise fix_the_turn -------------------------------------------
@cute.kernel
def turn_slow_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    M, N = mX.shape
    smem = cutlass.memory.SmemAllocator()
    sT = smem.allocate_tensor(Float32, cute.make_layout((TILE, TILE), stride=(TILE, 1)), 128)
    row, col = bidy * TILE + tidy, bidx * TILE + tidx
    if row < M and col < N:
        sT[tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
    if row < M and col < N:
        mY[col, M - 1 - row] = sT[tidy, tidx]


@cute.jit
def turn_slow(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], TILE), cute.ceil_div(mX.shape[0], TILE), 1)
    turn_slow_kernel(mX, mY).launch(grid=grid, block=(TILE, TILE, 1))


# -- planted mistakes ----------------------------------------------------------------------------
@cute.kernel
def overhang_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    mY[i] = mX[i]


@cute.jit
def overhang(mX: cute.Tensor, mY: cute.Tensor):
    overhang_kernel(mX, mY).launch(grid=(cute.ceil_div(mX.shape[0], 128), 1, 1), block=(128, 1, 1))


@cute.kernel
def race_shared_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    sRow[tidx] = mX[bidx, tidx]
    mY[bidx, tidx] = sRow[63 - tidx]


@cute.jit
def race_shared(mX: cute.Tensor, mY: cute.Tensor):
    race_shared_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


@cute.kernel
def race_global_kernel(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    mY[i] = mX[i]
    cute.arch.sync_threads()
    mZ[i] = mY[mY.shape[0] - 1 - i]  # written by another block, perhaps not yet


@cute.jit
def race_global(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor):
    race_global_kernel(mX, mY, mZ).launch(grid=(mX.shape[0] // 64, 1, 1), block=(64, 1, 1))


@cute.kernel
def unset_global_kernel(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 64 + tidx
    mY[i] = mX[i] + mZ[i]  # no thread has written mZ


@cute.jit
def unset_global(mX: cute.Tensor, mZ: cute.Tensor, mY: cute.Tensor):
    unset_global_kernel(mX, mZ, mY).launch(grid=(mX.shape[0] // 64, 1, 1), block=(64, 1, 1))


@cute.kernel
def unset_shared_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    sRow = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    if tidx < 63:  # one too few
        sRow[tidx] = mX[bidx, tidx]
    cute.arch.sync_threads()
    mY[bidx, tidx] = sRow[63 - tidx]


@cute.jit
def unset_shared(mX: cute.Tensor, mY: cute.Tensor):
    unset_shared_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


@cute.kernel
def split_barrier_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    mY[bidx, tidx] = mX[bidx, tidx]
    if tidx < 40:  # lanes 0 to 7 of warp 1 arrive, the others do not
        cute.arch.sync_threads()


@cute.jit
def split_barrier(mX: cute.Tensor, mY: cute.Tensor):
    split_barrier_kernel(mX, mY).launch(grid=(mX.shape[0], 1, 1), block=(64, 1, 1))


# Name -> the host function and the shapes of its tensors; the first is the input, the rest empty.
BUGS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "overhang": (overhang, [(1000,), (1000,)]),
    "race_shared": (race_shared, [(4, 64), (4, 64)]),
    "race_global": (race_global, [(256,), (256,), (256,)]),
    "unset_global": (unset_global, [(256,), (256,), (256,)]),
    "unset_shared": (unset_shared, [(4, 64), (4, 64)]),
    "split_barrier": (split_barrier, [(4, 64), (4, 64)]),
}


# -- launching them --------------------------------------------------------------------------------
def transposes() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name -> the host function and its arguments besides the two tensors."""
    return {
        "scatter": (scatter, ()),
        "shared_tile": (tile, (TILE,)),
        "padded": (tile, (TILE + 1,)),
        "padded_4": (rows, (TILE + 1, 8, 0)),
    }


def suspects() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """The five kernels of exercise read_the_report; 51,200 words are 200 KB of shared memory."""
    return {
        "A": (rows, (TILE + 16, 8, 0)),
        "B": (rows, (TILE + 1, 8, 51_200)),
        "C": (strided_load, ()),
        "D": (idle_lanes, ()),
        "E": (rows, (TILE + 1, 4, 0)),
    }


def turns() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    from forgekit.course import load_part
    from forgekit.lessons.exercise import exercise

    solution = load_part(exercise("week0/fix_the_turn").folder, "solution")
    turn, turn_kernel = solution.turn, solution.turn_kernel
    named(turn_slow_kernel, "turn_slow")
    named(turn_kernel, "turn_mended")
    return {"turn_slow": (turn_slow, ()), "turn_mended": (turn, ())}


def compiled(fn: Any, *args: Any, name: str) -> Any:
    """Compile, and give the kernel a name that a profiler can select."""
    for kernel in (
        scatter_kernel,
        tile_kernel,
        strided_load_kernel,
        rows_kernel,
        idle_lanes_kernel,
    ):
        named(kernel, name)
    return fk.compile(fn, *args)


def named(kernel: Any, name: str) -> None:
    """Give a @cute.kernel a short name; its default contains all argument types."""
    kernel.set_name_prefix(name, remove_cutlass_symbol=True, keep_mangled_name=False)


def launch_all(
    table: dict[str, tuple[Any, tuple[Any, ...]]], size: int, right: Callable[[Any], Any]
) -> None:
    """Launch each once on a square matrix, then check the results."""
    x = torch.rand(size, size, device=fk.device)
    results = {}
    for name, (fn, more) in table.items():
        y = torch.full((size, size), float("nan"), device=fk.device)
        compiled(fn, x, y, *more, name=f"transpose_{name}")(x, y)
        results[name] = torch.equal(y, right(x))
    print(", ".join(f"{name} {'right' if ok else 'WRONG'}" for name, ok in results.items()))


def launch_bug(name: str) -> None:
    """Launch once. On a GPU, tensors come from torch.empty, so they begin unwritten."""
    fn, shapes = BUGS[name]
    named(globals()[f"{name}_kernel"], name)
    empty = torch.empty if fk.target.kind == "gpu" else fk.empty
    x = torch.arange(float(torch.Size(shapes[0]).numel())).reshape(shapes[0]).to(fk.device)
    rest = [empty(*shape, device=fk.device) for shape in shapes[1:]]
    fk.compile(fn, x, *rest)(x, *rest)
    if fk.target.kind == "gpu":
        torch.cuda.synchronize()
    print(f"{name}: launched", flush=True)


def timeline(out: Path) -> None:
    """Run twelve transposes in four ways; record the events of host and GPU, in microseconds."""
    from torch.profiler import ProfilerActivity, profile, record_function

    def matrices(size: int) -> tuple[Any, Any]:
        return torch.rand(size, size, device="cuda"), torch.empty(size, size, device="cuda")

    small, large = matrices(512), matrices(8192)
    run = compiled(tile_on, *small, TILE + 1, name="transpose_padded")
    graph = torch.cuda.CUDAGraph()
    run(*small), run(*large)
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(graph):
            for _ in range(12):
                run(*small)
        replayed = {"graph": graph.replay}
    except RuntimeError as error:
        print("no graph:", error)
        replayed = {}

    def waiting() -> None:
        for _ in range(12):
            run(*small)
            small[1][0, 0].item()  # the host waits for a number from the GPU

    def queued() -> None:
        for _ in range(12):
            run(*small)

    def long() -> None:
        for _ in range(12):
            run(*large)

    ways = {"waiting": waiting, "queued": queued, **replayed, "long": long}
    walls = {}
    for name, way in ways.items():
        for _ in range(3):  # the first calls are slower than later ones
            way()
        torch.cuda.synchronize()
        times = []
        for _ in range(9):
            began = time.perf_counter()
            way()
            torch.cuda.synchronize()
            times.append(1e6 * (time.perf_counter() - began))
        walls[name] = sorted(times)[len(times) // 2]
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
        for name, way in ways.items():
            with record_function(name):
                way()
                torch.cuda.synchronize()
            time.sleep(0.01)
    watched.export_chrome_trace(str(out.with_suffix(".trace.json")))
    alone = {name: event_us(fn, *large, *more) for name, (fn, more) in transposes().items()}
    out.write_text(json.dumps({"wall_us": walls, "event_us": alone}))


def event_us(fn: Any, x: Any, y: Any, *more: Any) -> float:
    """Return the microseconds of a launch without a profiler: the median of 20 between events."""
    run = fk.compile(fn, x, y, *more)
    run(x, y)
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(20)]
    for before, after in pairs:
        before.record()
        run(x, y)
        after.record()
    torch.cuda.synchronize()
    return sorted(1000 * before.elapsed_time(after) for before, after in pairs)[10]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["transposes", "suspects", "turn", "bug", "timeline"])
    parser.add_argument("name", nargs="?", choices=BUGS)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--out", type=Path, default=Path("timeline.json"))
    given = parser.parse_args()
    if given.what == "bug":
        launch_bug(given.name)
    elif given.what == "timeline":
        timeline(given.out)
    elif given.what == "turn":
        launch_all(turns(), given.size, lambda x: x.rot90(-1))
    else:
        table = transposes() if given.what == "transposes" else suspects()
        launch_all(table, given.size, lambda x: x.T)
    return 0


if __name__ == "__main__":
    sys.exit(main())
