"""Small functions that the notebooks of week 0 share; each page introduces those that it uses."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cutlass
import cutlass.cute as cute
import torch
from matplotlib.patches import Rectangle

import forgekit as fk
from forgekit.benching.recorded import recorded
from forgekit.checking.compare import compare
from forgekit.viz.palette import INK, NOTE, PAPER, UNTOUCHED, WRONG, mix
from forgekit.viz.timing.style import SERIES

ON_CELL = "#101114"  # text on cells, which are light on every page


def loads(run: fk.CompiledKernel) -> list[str]:
    """Return the PTX instructions of `run` that load from global memory, in order."""
    return [line.split()[0] for line in run.ptx.splitlines() if "ld.global" in line]


# -- compile, check, count -------------------------------------------------------------------------
def cost(name: str, run: fk.CompiledKernel, x: torch.Tensor) -> fk.Profile:
    """Check that `run(x, y)` copies x to a y full of NaN, print the cost of one call, and return
    its profile.
    """
    y = torch.full_like(x, float("nan"))
    run(x, y)
    assert fk.check(y, x)
    p = fk.profile(run, x, y)
    print(f"{name:>11}: {p.global_load_requests:,} load requests of", end=" ")
    print(f"{p.global_load_sectors_per_request:.0f} sectors", end=", ")
    print(f"{per_kb(p, x):.0f} instructions per kB")
    return p


def per_kb(p: fk.Profile, x: torch.Tensor) -> float:
    """Return the PTX instructions that the warps executed for 1,024 bytes of x."""
    return 1024 * p.warp_instructions / x.nbytes


def check_shapes(
    run: Callable[[torch.Tensor, torch.Tensor], object],
    shapes: Iterable[tuple[int, ...]],
    result: Callable[[torch.Tensor], torch.Tensor] = lambda x: x,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Call `run(x, y)` for each shape of x and print the shapes whose y equals `result(x)`; report
    the first that does not.
    """
    right = []
    for shape in shapes:
        x = fk.randn(*shape, dtype=dtype)
        y = torch.full_like(result(x), float("nan"))
        run(x, y)
        if not compare(y, result(x)).ok:
            fk.check(y, result(x))
            break
        right.append(" × ".join(map(str, shape)))
    print("correct:", ", ".join(right))


def measure(
    fn: Callable[..., Any], x: torch.Tensor, y: torch.Tensor
) -> tuple[fk.CompiledKernel, fk.Profile]:
    """Compile `fn(x, y)`, check that it transposes x into y in the usual and in adversarial
    schedules, and return the compiled kernel and the profile of one call.
    """
    run = fk.compile(fn, x, y)
    run(x, y)
    fk.check(y, x.T, again=lambda: run(x, y))
    return run, fk.profile(run, x, y)


def against_torch(steps: Mapping[str, Any], names: Iterable[str], dtype: str) -> fk.Benchmark:
    """Return a benchmark of torch and of the transposes `names` in `steps`, with recorded times.

    A step is a host function, or a pair of a host function and a function (x, y) -> specs.
    """
    n = 8192 if fk.target.kind == "gpu" else 256  # a GPU needs a large matrix; counts do not
    x, y = (make(n, n, dtype=getattr(torch, dtype)) for make in (fk.randn, fk.empty))
    variants: dict[str, Any] = {"torch": lambda x, y: x.T.contiguous()}
    for name in names:
        fn, specs = steps[name] if isinstance(steps[name], tuple) else (steps[name], None)
        variants[name] = fk.compile(fn, *(specs(x, y) if specs else (x, y)))
    return fk.bench(variants, x, y, reference=x.T, recorded="week0/08_transpose_to_the_limit")


def blocks_per_sm(run: fk.CompiledKernel, threads: int, shared_bytes: int) -> int:
    """Return the number of blocks that fit into one multiprocessor of an H200.

    Its threads, blocks, registers and bytes of shared memory each set a limit.
    """
    registers = -(-run.registers // 8) * 8  # per thread, a multiple of 8
    by_registers = 65_536 // (threads * registers)
    by_shared = 233_472 // (shared_bytes + 1024)  # the system reserves 1 kB per block
    return min(2048 // threads, 32, by_registers, by_shared)


def count_here(
    recorded_counts: Mapping[str, Mapping[str, float]],
    ours: Mapping[str, fk.Profile],
    read_raw: Callable[[list[str]], Mapping[str, Mapping[str, float]]],
) -> None:
    """Run ncu on `recorded/kernels.py transposes` on this machine's GPU, and print how many of its
    numbers equal those of `ours`; without a GPU or ncu, or without permission, print that.
    """
    if fk.target.kind != "gpu" or shutil.which("ncu") is None:
        print("This machine has no GPU or no ncu, so only the recorded numbers above are shown.")
        return
    metrics = ",".join(next(iter(recorded_counts.values())))
    options = "--clock-control none -k regex:transpose_ --csv --page raw --print-units base"
    program = [sys.executable, "recorded/kernels.py", "transposes"]
    command = ["ncu", *options.split(), "--metrics", metrics, *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        print("ERR_NVGPUCTRPERM: this user may not read the counters; see section 2.")
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    for name, found in (read_raw(table) if table else {}).items():
        equal = sum(ours[name][metric] == found[metric] for metric in found)
        print(f"{name:11} {equal} of {len(found)} numbers are equal here as well")


def accesses(run: fk.CompiledKernel) -> str:
    """Return the PTX instructions that access global memory, counted: "4 × ld.global.b32, …"."""
    words = [line.split()[0] for line in run.ptx.splitlines() if ".global" in line]
    moves = [word for word in words if word.startswith(("ld.", "st.", "cp."))]
    return ", ".join(f"{moves.count(move)} × {move}" for move in dict.fromkeys(moves))


def order(run: fk.CompiledKernel) -> list[str]:
    """Return a thread's loads from and stores to global memory in order, as "ld" and "st"."""
    words = [line.split()[0] for line in run.ptx.splitlines() if ".global" in line]
    return [word[:2] for word in words if word.startswith(("ld.", "st."))]


def passed_as(run: fk.CompiledKernel) -> int:
    """Return the number of bytes that a kernel receives for its first tensor."""
    line = next(line for line in run.ptx.splitlines() if ".param .align" in line)
    return int(line.split("[")[-1].strip("],"))


def timed(what: str, action: Callable[[], Any]) -> Any:
    """Return the result of `action()` and print its time in milliseconds."""
    began = time.perf_counter()
    result = action()
    print(f"{what:>22}: {(time.perf_counter() - began) * 1e3:.1f} ms")
    return result


def promised(*tensors: torch.Tensor) -> list[Any]:
    """Return specs that promise whole 16-byte vectors in each row of (M, N) tensors."""
    return [fk.spec(t, divisible={1: 16 // t.element_size()}) for t in tensors]


def show_source(function: Callable[..., Any]) -> None:
    """Print the source of a helper."""
    print(inspect.getsource(function))


# -- copies ----------------------------------------------------------------------------------------
def flat(copy: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of the 1-D `copy` for row-major matrices without gaps."""

    @cute.jit
    def copy_flat(mX: cute.Tensor, mY: cute.Tensor):
        vX = cute.make_tensor(mX.iterator, cute.make_layout((cute.size(mX),)))  # (M*N)
        vY = cute.make_tensor(mY.iterator, cute.make_layout((cute.size(mY),)))  # (M*N)
        copy(vX, vY)

    return copy_flat


@cute.kernel
def strided_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    for k in cutlass.range_constexpr(4):
        i = (bidx * 4 + k) * bdim + tidx
        if i < mX.shape[0]:
            mY[i] = mX[i]


@cute.jit
def copy_strided(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    """The copy of `04_copy_fast`, four elements per thread, `threads` apart."""
    blocks = cute.ceil_div(mX.shape[0], 4 * threads)
    strided_kernel(mX, mY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


@cute.kernel
def vector_kernel(gX: cute.Tensor, gY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    if i < cute.size(gX, mode=[1]):
        gY[(None, i)].store(gX[(None, i)].load())


@cute.jit
def copy_vectors(mX: cute.Tensor, mY: cute.Tensor, threads: cutlass.Constexpr = 128):
    """The copy of `04_copy_fast`, one vector of 16 bytes per thread."""
    vec = cutlass.const_expr(128 // mX.element_type.width)  # elements in 128 bits, 16 bytes
    gX = cute.zipped_divide(mX, (vec,))  # ((Vec),(Rest))
    gY = cute.zipped_divide(mY, (vec,))  # ((Vec),(Rest))
    blocks = cute.ceil_div(cute.size(gX, mode=[1]), threads)
    vector_kernel(gX, gY).launch(grid=(blocks, 1, 1), block=(threads, 1, 1))


def side_by_side(steps: Mapping[str, Any], x: torch.Tensor) -> None:
    """Print the cost of each copy in `steps` for x.

    steps: name -> host function, or a pair of a host function and a function (x, y) -> specs.
    """
    print(f"{'':>22}  requests  sectors each (ideal)  bank conflicts  instructions per kB")
    for name, step in steps.items():
        fn, specs = step if isinstance(step, tuple) else (step, lambda x, y: (x, y))
        y = torch.full_like(x, float("nan"))
        run = fk.compile(fn, *specs(x, y))
        run(x, y)
        assert torch.equal(y, x)
        p = fk.profile(run, x, y)
        requests = p.global_load_requests
        each = f"{p.global_load_sectors // requests} ({p.global_load_ideal_sectors // requests})"
        conflicts = p.shared_load_bank_conflicts + p.shared_async_bank_conflicts
        print(f"{name:>22}  {requests:8,}  {each:>20}  {conflicts:14}  {per_kb(p, x):19.0f}")


# -- transposes ------------------------------------------------------------------------------------
@cute.kernel
def tile_kernel(mX: cute.Tensor, mY: cute.Tensor, layout_s: cute.Layout | cute.ComposedLayout):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    M, N = mX.shape
    T, _ = layout_s.shape
    rows = 256 // T  # rows of threads
    gX = cute.local_tile(mX, (T, T), (by, bx))  # (T,T)
    gY = cute.local_tile(mY, (T, T), (bx, by))  # (T,T)
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(mX.element_type, layout_s, 128)  # (T,T)
    for k in cutlass.range_constexpr(0, T, rows):
        if by * T + ty + k < M and bx * T + tx < N:
            sX[ty + k, tx] = gX[ty + k, tx]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(0, T, rows):
        if bx * T + ty + k < N and by * T + tx < M:
            gY[ty + k, tx] = sX[tx, ty + k]


def make_transpose(
    T: int, pitch: int, swizzle: tuple[int, int, int] | None = None
) -> Callable[..., Any]:
    """Return the host function of `07_transpose` for a T × T tile whose rows are `pitch` elements
    apart.
    """

    @cute.jit
    def transpose(mX: cute.Tensor, mY: cute.Tensor):
        layout_s = cute.make_layout((T, T), stride=(pitch, 1))  # (T,T):(pitch,1)
        if cutlass.const_expr(swizzle is not None):
            layout_s = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout_s)
        grid = (cute.ceil_div(mX.shape[1], T), cute.ceil_div(mX.shape[0], T), 1)
        tile_kernel(mX, mY, layout_s).launch(grid=grid, block=(T, 256 // T, 1))

    return transpose


# -- pictures of copies ----------------------------------------------------------------------------
def loads_in_flight(runs: Mapping[str, fk.CompiledKernel]) -> None:
    """Draw when a thread's global loads are in flight, one panel per kernel: a store waits for the
    loads before it, and each wait takes one unit of time.
    """
    waits, words = {}, []
    for name, run in runs.items():
        now, pending, waits[name] = 0, 0, []
        for access in order(run):
            if access == "ld":
                waits[name].append(now)
                pending += 1
            elif pending:
                now, pending = now + 1, 0
        words.append(f"{name}: {len(waits[name])} loads, {now} waits for memory")
    longest = max(max(starts) for starts in waits.values()) + 1
    alt = "Bars of equal length, one per load. " + "; ".join(words) + "."
    with fk.figure("How long a thread waits for its loads", alt, height=1.7, width=4.2,
                   panels=len(runs)) as panels:  # fmt: skip
        for axes, (name, starts) in zip(panels, waits.items(), strict=True):
            axes.barh(range(len(starts)), [0.94] * len(starts), 0.7, starts, color=SERIES[0])
            axes.set(title=name, xlim=(0, longest), xlabel="waits for memory", ylabel="load")
            axes.set(xticks=range(longest + 1), yticks=range(len(starts)))
            axes.invert_yaxis()


def littles_law(answer_ns: float) -> None:
    """Draw the recorded copies over the bytes that a thread has in flight, and the rate that
    Little's law allows if memory answers after `answer_ns`.
    """
    first, second = recorded("week0/04_copy_fast"), recorded("week0/05_tiled_copies")
    chosen = [
        (first, "one element per thread", "float16", 2), (first, "four, strided", "float16", 2),
        (first, "one element per thread", "float32", 4), (first, "four, strided", "float32", 4),
        (first, "vectors by hand", "float32", 16), (second, "tiled copy, across", "float32", 64),
    ]  # fmt: skip
    rates = [(step, dtype, size, run.row(step, dtype).gbps / 1000)
             for run, step, dtype, size in chosen]  # fmt: skip
    said = "; ".join(f"{step} {dtype}, {size} bytes: {rate:.1f} TB/s"
                     for step, dtype, size, rate in rates)  # fmt: skip
    sizes = (1.6, 100)
    most = [2 * 132 * 2048 * size / answer_ns / 1000 for size in sizes]
    with fk.figure("More bytes in flight, more bytes per second, up to the ceiling",
                   f"Recorded copies on an H200. {said}.", height=2.9) as axes:  # fmt: skip
        axes.loglog(sizes, most, color=UNTOUCHED, linestyle="--")
        axes.axhline(first.ceiling_gbps / 1000, color=UNTOUCHED)
        axes.annotate(f"Little's law, {answer_ns:.0f} ns", (5.2, 5.6), ha="right")
        axes.annotate("copy of 1 GB", (40, 4.45))
        for step, dtype, size, rate in rates:
            axes.plot(size, rate, "o", color=NOTE)
            axes.annotate(f" {step}, {dtype}", (size, rate), va="top")
        axes.set(xlim=(1.6, 200), ylim=(0.6, 7), yticks=(1, 2, 4), yticklabels=("1", "2", "4"))
        axes.set(xticks=(2, 4, 16, 64), xticklabels=("2", "4", "16", "64"))
        axes.set(xlabel="bytes in flight per thread", ylabel="TB/s, read and written")
        axes.minorticks_off()


# -- pictures of transposes ------------------------------------------------------------------------
def draw_piece() -> None:
    """Draw one thread's piece of a tile before and after it is transposed: 8 × 2 and 2 × 8."""
    alt = "Left: 8 rows of one word each, a0 b0 to a7 b7. Right: two rows, a0 to a7 and b0 to b7."
    with fk.figure("Eight words become two rows of 16 bytes", alt, height=1.7, panels=2,
                   width=4.2) as panels:  # fmt: skip
        for axes, turned in zip(panels, (False, True), strict=True):
            for k in range(16):
                row, col = (k // 8, k % 8) if turned else (k % 8, k // 8)
                colour = mix((SERIES[0], SERIES[4])[k // 8], PAPER, 0.6)
                axes.add_patch(Rectangle((col, row), 1, 1, facecolor=colour, edgecolor=PAPER))
                axes.text(col + 0.5, row + 0.5, "ab"[k // 8] + str(k % 8), ha="center",
                          va="center", color=ON_CELL)  # fmt: skip
            axes.set(xlim=(-0.1, 8.1), ylim=(8.1, -0.1), xticks=(), yticks=(), aspect="equal")
            axes.set(
                title="rY, 2 × 8: two rows of Y" if turned else "rX, 8 × 2: read from the tile"
            )
            axes.spines[["left", "bottom"]].set_visible(False)


# -- pictures of caches ----------------------------------------------------------------------------
def draw_strip(strip: torch.Tensor, ours: int, untouched: float) -> None:
    """Draw the elements of `strip`: the first `ours` belong to the kernel's matrix; of the others,
    those that differ from `untouched` were overwritten.
    """
    wrong = [k for k in range(ours, len(strip)) if strip[k] != untouched]
    colours = [NOTE if k < ours else WRONG if k in wrong else UNTOUCHED for k in range(len(strip))]
    alt = (
        f"{ours} elements are ours. The {len(wrong)} after them are overwritten, the rest are not."
    )
    with fk.figure(
        f"{len(wrong)} overwritten numbers of other data", alt, height=0.9, width=4.2
    ) as axes:
        bars = axes.bar(range(len(strip)), 1, 0.92, color=colours)
        for k in wrong:
            bars[k].set(hatch="///", edgecolor=PAPER, linewidth=0)
        for start, text in ((0, "our 4 × 3"), (ours, "overwritten"), (max(wrong) + 1, "untouched")):
            axes.annotate(text, (start - 0.45, 1.12), annotation_clip=False)
        axes.set(yticks=(), ylim=(0, 1.4), xlim=(-0.7, len(strip) - 0.3), xlabel="place in memory")
        axes.spines[["left"]].set_visible(False)
