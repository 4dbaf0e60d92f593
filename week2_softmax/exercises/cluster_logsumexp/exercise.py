"""Puzzle week2/cluster_logsumexp: four blocks find the log-sum-exp of a row, counted by an mbarrier."""

import math

import numpy as np
import torch

from forgekit.lessons.gates import GateError, Group, Misconception, found, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle
from forgekit.vgpu import Listener

from ..rows import hard_rows, steep
from ..staged import UNPUBLISHED, not_rescaled


def _inputs(draw, m, n):
    """Return hard rows, and a long one of which all exponentials but the first 512 are 0.5 + 2^-12,
    which float16 rounds."""
    x = steep(hard_rows(draw, m, n))
    if m > 1 and n > 512:
        x[1, :512], x[1, 512:] = 0.0, math.log(0.5 + 2**-12 - 2**-20)
    return (x,)


def _of_rank_0(x: torch.Tensor) -> torch.Tensor:
    """Return the result for the columns that one of the blocks reads."""
    return x.double()[:, torch.arange(x.shape[1]) // 128 % 4 == 0].logsumexp(1)


def _without_rescaling(x: torch.Tensor) -> torch.Tensor:
    m, s = not_rescaled(x, 512, 1)
    return (m + s.log())[:, 0]


def _shared_out(make):
    """Each of the four blocks loads at least an eighth of each row."""

    def run(submission):
        from forgekit.tracing.footprint import footprint

        for size in ((4, 5_000), (4, 1_000), (4, 480)):
            case = submission.case(make, size, "float32")
            kernel = submission.compiled(case)
            name = kernel.parameters[0].name
            args = submission.arguments(case).values()
            blocks = footprint(kernel, *args, tensor=name, kind="load").touched[name]["block"]
            for row, of in enumerate(blocks):
                count = sum((of == block).sum() >= len(of) / 8 for block in {*of.tolist()} - {-1})
                if count < 4:
                    raise GateError(
                        f"Blocks that load at least an eighth of row {row} of {name}: {count} with "
                        f"{case.label}; needed 4.",
                        look_at=f"fk.footprint(*{{failed}}, tensor='{name}', by='block', kind='load')",
                    )
        return "among four blocks"

    return Group("Columns shared", run)


class _Readers(Listener):
    """Finds the warps that read shared memory; all: for each batch, (blocks, warps)."""

    def __init__(self):
        self.all = []

    def on_batch(self, m):
        self.all.append(np.zeros((m.shape[0], -(-m.shape[1] // 32)), bool))

    def on_access(self, m, access):
        if access.kind == "load" and access.space == "shared":
            who = m.expand(access.mask)
            self.all[-1] |= who.reshape(len(who), -1, 32).any(2)


def _sent(make):
    def run(submission):
        case, readers = submission.case(make, (4, 5_000), "float32"), _Readers()
        profile, _ = submission.counted(case, readers)
        sent = sum(
            i["thread_instructions"] for line in profile.all_lines for i in line.instructions
            if i.text.startswith("st.async")
        )  # fmt: skip
        if sent != 4 * 16:
            raise GateError(
                f"With {case.label}, `store_async_dsmem` stores {sent:,.0f} times; the task asks for "
                "16 pairs per row, one from each warp, which means 64 stores."
            )
        if (most := max(of.sum(1).max() for of in readers.all)) > 1:
            raise GateError(
                f"With {case.label}, {most} warps of a block read shared memory; the task asks for "
                "one, which computes the result."
            )
        return "16 per row"

    return Group("A pair from each warp", run)


EXERCISE = puzzle(
    title="find the log-sum-exp of a row in a cluster",
    task="""
`y[m] = log(exp(x[m, 0]) + … + exp(x[m, N-1]))` for any number of float32 rows of any length, without overflow. As
in week 1's `cluster_sum`, the four blocks of a cluster share the columns of a row. Each warp sends its pair (m, s) to one of the blocks with one `store_async_dsmem`, 16 pairs in all. An mbarrier in that block
counts their bytes, and one of its warps computes the result. Read x once. The kernel requires compute
capability 9.0 or later. Signature: `cluster_logsumexp(x, y)`.
""",
    hints=(
        "Before any warp sends a pair, block 0 has to be running, and its mbarrier has to expect the bytes. Which two-part barrier ensures that?",
        "`N` may be less than 128. Then whole warps have no elements, and their pair is (-inf, 0). Where would that turn into NaN?",
        "One lane of each warp sends the pair to `(sPart.iterator + 2 * number).align(8)`. `cute.arch.warp_idx()` is a shuffle, so call it outside that `if`.",
    ),
    analysis="""
16 pairs are 128 bytes, so the mbarrier's phase ends when thread 0 and all 128 bytes have arrived. Only block 0
has to wait at the mbarrier, but no warp may send before `cluster_wait`. Blocks 1 to 3 may exit as soon as they
have sent their pairs, because no block writes to them. A pair travels as two words in one store, so m and s of a
warp stay together. (`grid=(4, rows, 1)` also works, for up to 65,535
rows, the limit of a grid's y.)
""",
    asked={"work": "one cluster per row", "cluster": 4, "block": 128, "sharing": 4, "cluster_barriers": 1},
    entry="cluster_logsumexp",
    inputs=_inputs,
    result=lambda x: x.logsumexp(1),
    sizes=[(3, 512), (2, 1), (3, 33), (2, 1000), (7, 129), (1, 5000), (3, 1025)],
    count=[(1, 600), (4, 5_000)],
    misconceptions=[
        UNPUBLISHED,
        looks_like(lambda x, y: _of_rank_0(x), "the result covers only the first block's share."),
        looks_like(lambda x, y: _without_rescaling(x), "a thread's sum is relative to an "
                   "older, smaller maximum and is not rescaled when a larger one appears."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).logsumexp(1), "the maximum has to be "
                   "added back after the logarithm."),
        looks_like(lambda x, y: (x.double() - x.double().amax(1, keepdim=True)).exp().sum(1), "the "
                   "result is the sum of exponentials relative to the maximum; log-sum-exp is the maximum "
                   "plus its logarithm."),
        looks_like(lambda x, y: _of_rank_0(x) + math.log(4), "the first block's columns count "
                   "four times, and the others do not count."),
        looks_like(lambda x, y: x.double().logsumexp(1) + math.log(4), "every element counts "
                   "four times, as if each block had read the whole row."),
        Misconception("a row of 512 elements is correct. In this row, whole warps have no elements; if their maximum is -inf, "
             "it must not be subtracted from -inf, which gives NaN.",
             lambda e: not e.kinds and e.case.args[0].shape[1] <= 480 and e.got[1].isnan().all()),
        found("deadlock", "the mbarrier waits for bytes or arrivals that never come, or receives more than it expects. It needs 16 pairs "
              "of 8 bytes and one arrival."),
        Misconception("a pair may be sent only after the receiving block has started and initialised its mbarrier: "
             "call cluster_arrive and cluster_wait first.",
             lambda e: e.kinds[0] == "block-lifetime"),
        Misconception("a pair is read before it has arrived, or two are sent to one slot. Each of the 16 pairs needs its own "
             "slot, the mbarrier has to expect the bytes of all 16, and every reader has to wait for it.", lambda e: e.kinds[0] == "async-copy"),
        found("uninitialised-shared", "the kernel reads a slot that no warp "
              "has written: each of the 16 warps has its own slot, chosen by rank and warp."),
    ],
    more=lambda make: (read_at_most(make, (4, 1_000), {0: 1}), _shared_out(make), _sent(make)),
    arch="sm_90a",
)  # fmt: skip
