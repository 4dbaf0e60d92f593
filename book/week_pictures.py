"""Draw the pictures for weeks 1 and 2: a sum by shuffles, and the passes of three softmaxes."""

from __future__ import annotations

from typing import Any

import cutlass
import cutlass.cute as cute
from drawing import svg, text

__all__ = ["passes", "shuffles"]

LANES, STEPS = 32, 5
CELL, ROW = 14, 46  # px
LEFT = 96  # px, reserved for text


# -- week 1 --------------------------------------------------------------------------------------
@cute.kernel
def butterfly_kernel(mX: cute.Tensor, mY: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    held = mX[lane]
    mY[0, lane] = held
    for k in cutlass.range_constexpr(STEPS):
        held += cute.arch.shuffle_sync_bfly(held, offset=(LANES // 2) >> k)
        mY[k + 1, lane] = held


@cute.jit
def butterfly(mX: cute.Tensor, mY: cute.Tensor):
    butterfly_kernel(mX, mY).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def summed() -> list[list[set[int]]]:
    """Run a sum by shuffles; return the lanes whose numbers each lane's sum contains per step."""
    import torch

    import forgekit as fk

    x = 2 ** fk.arange(LANES, dtype=torch.int64, device="virtual")  # one bit per lane
    y = fk.empty(STEPS + 1, LANES, dtype=torch.int64, device="virtual")
    fk.compile(butterfly, x, y, device="virtual")(x, y)
    return [[{lane for lane in range(LANES) if bits >> lane & 1} for bits in row]
            for row in y.tolist()]  # fmt: skip


def shuffles() -> str:
    """Draw one column per lane and one row per step. A cell's colour shows the mean number
    of the lanes in its sum.
    """
    import matplotlib
    from matplotlib.colors import to_hex

    held = summed()
    assert [{len(lanes) for lanes in row} for row in held] == [{1}, {2}, {4}, {8}, {16}, {32}]
    lines, cells = [], []
    for k, row in enumerate(held):
        y = 30 + k * ROW
        cells.append(text(0, y + 11, f"{len(row[0])} of 32", role="dim", size=13))
        for lane, lanes in enumerate(row):
            x = LEFT + lane * (CELL + 1)
            colour = matplotlib.colormaps["viridis"](0.1 + 0.85 * sum(lanes) / len(lanes) / 31)
            cells.append(f'<rect fill="{to_hex(colour)}" x="{x}" y="{y}" width="{CELL}" '
                         f'height="{CELL}" rx="2.5"/>')  # fmt: skip
            if k:  # lines from this lane and from the lane whose sum it added
                other = lane ^ (LANES // 2) >> (k - 1)
                assert lanes == held[k - 1][lane] | held[k - 1][other]
                for source in (lane, other):
                    lines.append(
                        f"M{LEFT + source * (CELL + 1) + CELL / 2:g} {y - ROW + CELL + 2}"
                        f"L{x + CELL / 2:g} {y - 2}"
                    )
    head = [
        text(0, 14, "summed", role="dim", size=13),
        text(LEFT, 14, "lanes 0 … 31 of a warp", role="dim", size=13),
    ]
    drawn = f'<path class="dim-s" fill="none" stroke-width="0.7" d="{"".join(lines)}"/>'
    return svg(LEFT + LANES * (CELL + 1), 30 + STEPS * ROW + CELL + 2, [*head, drawn, *cells])


# -- week 2 --------------------------------------------------------------------------------------
BAR = 52  # px, the length of one pass over the matrix
READ, WRITTEN, CODE = 0, BAR + 8, 2 * BAR + 28  # px, the left edges of the columns
WIDTH = CODE + 575


def passes() -> str:
    """Draw three softmaxes: each line that accesses memory, and the fraction of the matrix that it
    moves.
    """
    from forgekit.kernels import softmax_steps

    body = [
        text(READ, 14, "read", role="dim", size=13),
        text(WRITTEN, 14, "written", role="dim", size=13),
    ]
    y = 46
    for title, kernel in (
        ("As in a textbook", softmax_steps.ThreePassSoftmax()),
        ("Maximum and sum in one pass", softmax_steps.TwoPassSoftmax()),
        ("Row kept in registers", softmax_steps.OnlineSoftmax(loads=4)),
    ):
        lines = moved(kernel)
        times = sum(read + written for _, read, written in lines)
        words = f"{title}: the matrix is moved {times:g} times"
        body.append(text(READ, y, words, size=15, weight=650))
        for code, read, written in lines:
            y += 24
            for x, share in ((READ, read), (WRITTEN, written)):
                if share:
                    body.append(f'<rect class="accent" x="{x}" y="{y - 11}" '
                                f'width="{share * BAR:g}" height="14" rx="2.5"/>')  # fmt: skip
            body.append(text(CODE, y, code, mono=True))
        y += 42
    return svg(WIDTH, y - 30, body)


def moved(kernel: Any) -> list[tuple[str, float, float]]:
    """Run a kernel; return (code, matrices read, matrices written) for each line that accesses
    memory.
    """
    import torch

    import forgekit as fk

    x = fk.randn(8, 1024, device="virtual")
    y = fk.empty(8, 1024, device="virtual")
    run = fk.compile(kernel, x, y, device="virtual")
    run(x, y)
    torch.testing.assert_close(y, torch.softmax(x, -1))
    found = fk.profile(run, x, y, gpu="H200")
    matrix_bytes = 4 * x.numel()
    lines = []
    for line in found.lines:
        read = line["global_load_bytes_moved"] / matrix_bytes
        written = line["global_store_bytes_moved"] / matrix_bytes
        if read or written:
            lines.append((line.text.strip(), read, written))
    return lines
