"""cp.async: waits that are missing, too weak or misplaced, and stages used too early."""

import cutlass
from cutlass import Float32, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import Bug, family
from tests.sanitizer.kernel_parts import by_rows, indices, pair, smem, sync_if

THREADS = 64
TILE = 4 * THREADS
STAGES = 3


def vector_atom():
    return cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)


def reversed_tiles(x, y):
    padded = fk.zeros(y.shape[0])
    padded[: x.shape[0]] = x
    return [(y, padded.view(-1, TILE).flip(1).reshape(-1))]


ASYNC, RACE = ("async-copy",), ("shared-race",)


@family(block=THREADS, args=lambda: (fk.randn(TILE), fk.empty(THREADS)), want=lambda x, y: x[3::4],
        static=(0,), bugs=(
    Bug("not_committed", ASYNC, "The wait covers no group that contains the copy."),
    Bug("not_awaited", ASYNC, "No thread waits for the copy."),
    Bug("awaited_late", ASYNC, "The element is read before the wait."),
    Bug("awaited_but_one", ASYNC, "The wait leaves the only group in flight."),
    Bug("overwritten", ASYNC, "A plain store writes where the copy is yet to arrive."),
    Bug("read_by_another", RACE, "A thread waits for its own copy, but reads another's."),
))  # fmt: skip
@cute.kernel
def own_vector(mX, mY, bug):
    """Each thread copies and uses its own four elements, so it needs a wait but no barrier."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((4, THREADS))
    gX = cute.zipped_divide(mX, (4,))
    # BUG not_committed, not_awaited, awaited_late, awaited_but_one, overwritten, read_by_another
    cute.copy(vector_atom(), gX[None, tidx], sX[None, tidx])
    sync_if(bug != "not_committed", cute.arch.cp_async_commit_group)
    if const_expr(bug == "overwritten"):
        sX[0, tidx] = Float32(0.0)  # BUG overwritten
    if const_expr(bug not in ("not_awaited", "awaited_late")):
        cute.arch.cp_async_wait_group(1 if bug == "awaited_but_one" else 0)
    thread = THREADS - 1 - tidx if const_expr(bug == "read_by_another") else tidx
    # BUG not_committed, not_awaited, awaited_late, awaited_but_one, read_by_another
    x = sX[3, thread]
    sync_if(bug == "awaited_late", cute.arch.cp_async_wait_group, 0)
    mY[tidx] = x


@family(block=THREADS, grid=lambda mX, mY: mY.shape[0] // TILE,
        args=lambda: (fk.randn(TILE + 100), fk.empty(2 * TILE)), want=reversed_tiles, static=(0,),
        bugs=(
    Bug("without_predicate", ("out-of-bounds",), "Vectors beyond the end are copied."),
    Bug("unguarded", RACE,
        "There is no barrier between the wait and other threads' reads.", changes_result=True),
    Bug("barrier_first", RACE, "The barrier precedes the wait.", changes_result=True),
))  # fmt: skip
@cute.kernel
def reversed_tile(mX, mY, bug):
    """Threads read a tile that other threads copied, after a wait and a barrier."""
    tidx, bidx = indices()
    sX = smem(TILE)
    gX, sV = cute.zipped_divide(mX, (4,)), cute.zipped_divide(sX, (4,))
    pred = cute.make_rmem_tensor(cute.make_layout((4,), stride=(0,)), cutlass.Boolean)
    vector = bidx * THREADS + tidx
    pred[0] = vector * 4 < mX.shape[0]
    if const_expr(bug == "without_predicate"):
        cute.copy(vector_atom(), gX[None, vector], sV[None, tidx])  # BUG without_predicate
    else:
        # BUG unguarded, barrier_first
        cute.copy(vector_atom(), gX[None, vector], sV[None, tidx], pred=pred)
    cute.arch.cp_async_commit_group()
    sync_if(bug == "barrier_first")
    cute.arch.cp_async_wait_group(0)
    sync_if(bug not in ("unguarded", "barrier_first"))
    for k in cutlass.range_constexpr(4):
        x = sX[TILE - 1 - k * THREADS - tidx]  # BUG unguarded, barrier_first
        mY[bidx * TILE + k * THREADS + tidx] = x


@family(block=THREADS, grid=by_rows, args=lambda: (fk.randn(2, 5 * TILE), fk.empty(2, THREADS)),
        want=lambda x, y: x.view(x.shape[0], -1, THREADS, 4).sum((1, 3)).flip(1),
        static=(0,), bugs=(
    Bug("weak_wait", ASYNC, "The wait leaves one group too many in flight.",
        also=RACE, loose=True),
    Bug("no_wait", ASYNC, "The loop has no wait.", also=RACE, loose=True),
    Bug("no_barrier", RACE, "The loop has no barrier, but reads other threads' copies.", loose=True,
        changes_result=True),
    Bug("reuses_stage_read", (*ASYNC, *RACE),
        "The next tile overwrites the stage that is being read.",
        also=RACE, loose=True),
    Bug("fewer_commits", ASYNC, "Without empty groups at the end, the last waits do not wait.",
        also=RACE, loose=True),
))  # fmt: skip
@cute.kernel
def pipeline(mX, mY, bug):
    """Sum rows; cp.async copies tiles of 256 floats, two ahead of the sum, into three stages."""
    tidx, row = indices()
    sX = smem((4, THREADS, STAGES))
    gX = cute.zipped_divide(mX[row, None], (4,))  # (4, N / 4)
    tiles = mX.shape[1] // TILE
    for s in cutlass.range_constexpr(STAGES - 1):
        # BUG weak_wait, no_wait, no_barrier, fewer_commits
        cute.copy(vector_atom(), gX[None, s * THREADS + tidx], sX[None, tidx, s])
        cute.arch.cp_async_commit_group()
    total = Float32(0.0)
    for t in cutlass.range(tiles, unroll=1):
        if const_expr(bug != "no_wait"):
            cute.arch.cp_async_wait_group(STAGES - (1 if bug == "weak_wait" else 2))
        sync_if(bug != "no_barrier")
        ahead = t + STAGES - 1
        stage = t if const_expr(bug == "reuses_stage_read") else ahead
        if ahead < tiles:
            new = sX[None, tidx, stage % STAGES]
            # BUG weak_wait, no_wait, no_barrier, reuses_stage_read, fewer_commits
            cute.copy(vector_atom(), gX[None, ahead * THREADS + tidx], new)
            sync_if(bug == "fewer_commits", cute.arch.cp_async_commit_group)
        sync_if(bug != "fewer_commits", cute.arch.cp_async_commit_group)
        for k in cutlass.range_constexpr(4):
            # BUG weak_wait, no_wait, no_barrier, reuses_stage_read, fewer_commits
            total += sX[k, THREADS - 1 - tidx, t % STAGES]
    mY[row, tidx] = total


@family(block=THREADS, args=pair(3 * TILE), want=lambda x, y: 2 * x, static=(0,), bugs=(
    Bug("without_second_barrier", RACE, "A stage is filled while other threads still read it.",
        loose=True),
    Bug("of_one_buffer", (*ASYNC, *RACE),
        "Both stages are the same buffer.", also=RACE, loose=True),
))  # fmt: skip
@cute.kernel
def two_stages(mX, mY, bug):
    """Compute y = 2 x, tile by tile; the next tile is in flight while the current tile is used."""
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem((4, THREADS, 2))
    gX = cute.zipped_divide(mX, (4,))
    tiles = mX.shape[0] // TILE
    # BUG without_second_barrier, of_one_buffer
    cute.copy(vector_atom(), gX[None, tidx], sX[None, tidx, 0])
    cute.arch.cp_async_commit_group()
    for t in cutlass.range(tiles, unroll=1):
        if t + 1 < tiles:
            stage = 0 if const_expr(bug == "of_one_buffer") else (t + 1) % 2
            # BUG without_second_barrier, of_one_buffer
            cute.copy(vector_atom(), gX[None, (t + 1) * THREADS + tidx], sX[None, tidx, stage])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        stage = 0 if const_expr(bug == "of_one_buffer") else t % 2
        for k in cutlass.range_constexpr(4):
            x = sX[k, THREADS - 1 - tidx, stage]  # BUG without_second_barrier, of_one_buffer
            mY[t * TILE + 4 * (THREADS - 1 - tidx) + k] = 2.0 * x
        sync_if(bug != "without_second_barrier")
