"""Exchange between the blocks of a cluster: gather, halo, broadcast, atomics, messages."""

import cutlass
import torch
from cutlass import Float32, Int32, Int64, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import cluster_sync, empty, integers, pair, smem, sync_if

THREADS = 64
BLOCKS = 4


def twice_less_the_largest(x):
    for _ in range(2):
        x = 2 * x - x.max()
    return x.int()


def handed_on(x):
    for _ in range(3):
        x = x.flip(0).flip(1) + 1
    return x.int()


def spread(x):
    return x.repeat_interleave(2, 0).repeat_interleave(2, 1).flip(2).int()


RACE, LEFT, OUT = ("shared-race",), ("block-lifetime",), ("out-of-bounds",)
EMPTY, ASYNC = ("uninitialised-shared",), ("async-copy",)


@family(block=THREADS, grid=BLOCKS, cluster=(BLOCKS, 1, 1),
        args=lambda: (integers(BLOCKS, THREADS), empty(BLOCKS, THREADS)),
        want=lambda x, y: twice_less_the_largest(x), bugs=(
    Bug("read_early", RACE, "The maxima are read without a barrier.", also=(*LEFT, *EMPTY)),
    Bug("next_round_early", RACE,
        "The next maximum is stored before all blocks have read the last one."),
    Bug("leaves", LEFT, "A block leaves while others read from it."),
    Bug("only_waits", ("barrier-count",), "A block waits for a barrier without arriving.",
        also=(*RACE, *LEFT, *EMPTY)),
))  # fmt: skip
@cute.kernel
def cluster_max(mX, mY, bug):
    """In two rounds, every block reads all blocks' maxima, and subtracts the largest."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    warp = cute.arch.warp_idx()
    sTop = smem(2, Int32)
    x = mX[rank, tidx]
    for k in cutlass.range_constexpr(2):
        top = cute.arch.warp_redux_sync(x, "max")
        if cute.arch.lane_idx() == 0:
            sTop[warp] = top  # BUG read_early, next_round_early
        if const_expr(bug == "only_waits" and k == 0):
            cute.arch.cluster_wait()  # BUG only_waits
        elif const_expr(bug != "read_early"):
            cluster_sync()
        for b in cutlass.range_constexpr(BLOCKS):
            for w in cutlass.range_constexpr(2):
                # BUG read_early, next_round_early, leaves
                other = cute.arch.map_dsmem_ptr(sTop.iterator + w, Int32(b)).load()
                top = cutlass.max(top, other)
        x = 2 * x - top
        if const_expr(k == 0 and bug != "next_round_early"):
            cluster_sync()
    sync_if(bug != "leaves", cluster_sync)
    mY[rank, tidx] = x


@family(block=THREADS, grid=BLOCKS, cluster=(BLOCKS, 1, 1), args=pair(BLOCKS * THREADS),
        want=lambda x, y: 3 * x + x.roll(-1), bugs=(
    Bug("without_barrier", RACE, "The neighbours' values are read without a barrier.",
        also=(*LEFT, *EMPTY), loose=True),
    Bug("written_between", RACE, "A block changes its tile after it has arrived.", loose=True),
    Bug("past_the_last_block", OUT, "The last block has no neighbour of rank 4."),
    Bug("past_its_tile", OUT, "The neighbour's tile has 64 values, but the 65th is read."),
    Bug("leaves", LEFT, "A block leaves while its neighbour reads from it."),
))  # fmt: skip
@cute.kernel
def cluster_halo(mX, mY, bug):
    """Compute y[i] = x[i] + x[i + 1], cyclically; the next block's first value comes from the next
    block's shared memory."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sX = smem(THREADS)
    sX[tidx] = mX[rank * THREADS + tidx]  # BUG without_barrier, written_between
    sync_if(bug != "without_barrier", cute.arch.cluster_arrive)
    if const_expr(bug == "written_between"):
        sX[tidx] = 1.0 + mX[rank * THREADS + tidx]  # BUG written_between
    before = 3.0 * mX[rank * THREADS + tidx]  # work between arrival and wait
    sync_if(bug != "without_barrier", cute.arch.cluster_wait)
    following = Float32(0.0)
    if tidx == THREADS - 1:
        peer = rank + 1 if const_expr(bug == "past_the_last_block") else (rank + 1) % BLOCKS
        at = THREADS if const_expr(bug == "past_its_tile") else 0
        # BUG without_barrier, written_between, past_the_last_block, past_its_tile, leaves
        following = cute.arch.map_dsmem_ptr(sX.iterator + at, peer).load()
    else:
        following = sX[tidx + 1]  # BUG without_barrier, written_between
    mY[rank * THREADS + tidx] = before + following
    sync_if(bug != "leaves", cluster_sync)


@family(block=THREADS, grid=(4, 2, 1), cluster=(2, 2, 1),
        args=lambda: (integers(1, 2, THREADS), empty(2, 4, THREADS)), want=lambda x, y: spread(x),
        bugs=(
    Bug("before_they_start", LEFT, "The other blocks may not have started yet."),
    Bug("by_all", RACE, "All four blocks write different values."),
    Bug("not_awaited", RACE, "The barrier is one of the block only.", also=(*LEFT, *EMPTY)),
))  # fmt: skip
@cute.kernel
def cluster_broadcast(mX, mY, bug):
    """Block 0 of each cluster of 2 x 2 writes its row into the shared memory of all blocks."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    cx, cy, _ = cute.arch.cluster_idx()
    bx, by, _ = cute.arch.block_idx()
    sX = smem(THREADS, Int32)
    if const_expr(bug != "before_they_start"):
        cluster_sync()  # all four blocks have started
    if rank == 0 or const_expr(bug == "by_all"):
        x = mX[cy, cx, tidx]
        if const_expr(bug == "by_all"):
            x += rank
        for b in cutlass.range_constexpr(BLOCKS):
            # BUG before_they_start, by_all, not_awaited
            cute.arch.map_dsmem_ptr(sX.iterator + tidx, Int32(b)).store(x)
    if const_expr(bug == "not_awaited"):
        cute.arch.sync_threads()
    else:
        cluster_sync()
    mY[by, bx, tidx] = sX[THREADS - 1 - tidx]  # BUG not_awaited


@family(block=THREADS, grid=BLOCKS, cluster=(BLOCKS, 1, 1),
        args=lambda: (fk.randint(0, 16, BLOCKS, THREADS), empty(16)),
        want=lambda x, h: torch.bincount(x.view(-1).long(), minlength=16).int(), bugs=(
    Bug("counted_early", RACE, "Other blocks' counters may not be zero yet.",
        also=(*LEFT, *EMPTY), loose=True),
    Bug("read_early", RACE, "Counters are read while other blocks count.", also=LEFT, loose=True),
))  # fmt: skip
@cute.kernel
def cluster_histogram(mX, mH, bug):
    """Each block owns 4 of 16 counters, and threads count each value in its counter's block."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sH = smem(4, Int32)
    if tidx < 4:
        sH[tidx] = 0  # BUG counted_early
    if const_expr(bug == "counted_early"):
        cute.arch.sync_threads()
    else:
        cluster_sync()
    x = mX[rank, tidx]
    counter = cute.arch.map_dsmem_ptr(sH.iterator + x % 4, x // 4)  # BUG counted_early, read_early
    cute.arch.atomic_add(counter, Int32(1))  # BUG counted_early, read_early
    if const_expr(bug == "read_early"):
        cute.arch.sync_threads()
    else:
        cluster_sync()
    if tidx < 4:
        mH[rank * 4 + tidx] = sH[tidx]  # BUG read_early


@family(block=32, grid=2, cluster=(2, 1, 1), args=lambda: (integers(2, 32), empty(2, 32)),
        want=lambda x, y: handed_on(x), bugs=(
    Bug("not_awaited", ASYNC, "Messages are read before they have come.",
        also=(*LEFT, *EMPTY), loose=True),
    Bug("one_box", (*ASYNC, *RACE),
        "The next message may overwrite a message that is still unread.",
        loose=True, also=(*LEFT, *RACE)),
    Bug("wrong_box", ASYNC, "The wrong mailbox is read.", also=(*LEFT, *EMPTY), loose=True),
    Bug("leaves", LEFT, "A block does not wait for the last message."),
))  # fmt: skip
@cute.kernel
def messages(mX, mY, bug):
    """Send three rounds of st.async to the other block, each with a separate mailbox and
    mbarrier."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    sBox = smem((32, 3), Int32)
    full = smem(3, Int64).iterator
    if tidx == 0:
        for s in cutlass.range_constexpr(3):
            cute.arch.mbarrier_init(full + s, 1)
            cute.arch.mbarrier_arrive_and_expect_tx(full + s, 4 * 32)
        cute.arch.mbarrier_init_fence()
    cluster_sync()
    x = mX[rank, tidx]
    for k in cutlass.range_constexpr(3):
        s = 0 if const_expr(bug == "one_box") else k
        box = sBox.iterator + cute.crd2idx((tidx, s), sBox.layout)
        # BUG not_awaited, one_box, wrong_box, leaves
        cute.arch.store_async_dsmem(box, x, full + k, 1 - rank)
        if const_expr(bug == "leaves" and k == 2):
            pass
        elif const_expr(bug != "not_awaited"):
            cute.arch.mbarrier_wait(full + k, 0)
        if const_expr(bug == "wrong_box"):
            s = (s + 1) % 3
        if const_expr(not (bug == "leaves" and k == 2)):
            x = sBox[31 - tidx, s] + 1  # BUG not_awaited, one_box, wrong_box
    mY[rank, tidx] = x
