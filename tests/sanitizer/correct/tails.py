"""Define correct kernels that read and compute on unwritten shared memory, and drop the results.

As in production kernels, the tails of rows and tiles are not loaded, or only in part. All threads
compute on the tails, and the results are masked or omitted at the end.
"""

import cutlass
import torch
from cutlass import Float32, Int8, Int32, Int64, const_expr, cute

import forgekit as fk
from tests.sanitizer.bank import family
from tests.sanitizer.kernel_parts import by_parts, cluster_sync, indices, init_mbarriers, pair, smem

THREADS = 64
WARP = 32


def async_atom(dtype=Float32):
    return cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), dtype, num_bits_per_copy=128)


def turned(x, t):
    angle = torch.arange(2 * WARP).float()
    a, b = x[:, ::2], x[:, 1::2]
    pairs = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack(pairs, 2).view(x.shape)


def as_words(x, y):
    padded = torch.zeros(4 * y.shape[0], dtype=torch.int8)
    padded[: x.shape[0]] = x
    return [(y, padded.view(torch.int32))]


def of_neighbours(x, y):
    p = torch.nn.functional.pad(x, (1, 1))
    return [(y, p[:-2] + p[1:-1] + p[2:])]


# -- one row per warp: rows beyond the end are computed but not stored
# ------------------------------
@cute.kernel
def rows_kernel(mX, mT, mY, what):
    """Process one row per warp, 4 elements per lane; cp.async loads the row if it exists."""
    tidx, bidx = indices()
    warp, lane = tidx // WARP, tidx % WARP
    row, rows = bidx * 2 + warp, mX.shape[0]
    sX = smem((4, WARP, 2))
    if row < rows:
        cute.copy(async_atom(), cute.zipped_divide(mX[row, None], (4,))[None, lane],
                  sX[None, lane, warp])  # fmt: skip
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_warp()
    rX = cute.make_rmem_tensor(4, Float32)
    cute.autovec_copy(sX[None, lane, warp], rX)
    x = rX.load()
    add, most = cute.ReductionOp.ADD, cute.ReductionOp.MAX
    if const_expr(what in ("softmax", "cross_entropy")):
        top = cute.arch.warp_reduction_max(x.reduce(most, -Float32.inf, 0))
        e = cute.math.exp(x - top)
        total = cute.arch.warp_reduction_sum(e.reduce(add, Float32(0.0), 0))
        if const_expr(what == "softmax"):
            rX.store(e / total)
        else:
            target = Int32(0)
            if row < rows:
                target = mT[row]
            at = sX[target % 4, target // 4, warp]
            if row < rows and lane == 0:
                mY[row, 0] = cute.math.log(total) + top - at
    elif const_expr(what == "rms_norm"):
        squares = cute.arch.warp_reduction_sum((x * x).reduce(add, Float32(0.0), 0))
        rX.store(x * cute.math.rsqrt(squares / (4 * WARP) + 1e-6))
    elif const_expr(what == "layer_norm"):
        mean = cute.arch.warp_reduction_sum(x.reduce(add, Float32(0.0), 0)) / (4 * WARP)
        off = x - mean
        variance = cute.arch.warp_reduction_sum((off * off).reduce(add, Float32(0.0), 0))
        rX.store(off * cute.math.rsqrt(variance / (4 * WARP) + 1e-6))
    elif const_expr(what == "rotary"):  # pairs rotated by an angle
        for k in cutlass.range_constexpr(2):
            angle = Float32(2 * lane + k)
            c, s = cute.math.cos(angle), cute.math.sin(angle)
            a, b = rX[2 * k], rX[2 * k + 1]
            rX[2 * k], rX[2 * k + 1] = a * c - b * s, a * s + b * c
    if const_expr(what != "cross_entropy"):
        if row < rows:
            cute.autovec_copy(rX, cute.zipped_divide(mY[row, None], (4,))[None, lane])


ROWS = tuple(
    family(block=THREADS, grid=lambda mX, mT, mY: cute.ceil_div(mX.shape[0], 2), what=what,
           name=f"tail_{what}", static=(0, 2), want=lambda x, t, y, want=want: want(x, t),
           args=lambda columns=1 if what == "cross_entropy" else 4 * WARP: (
               fk.randn(3, 4 * WARP), fk.randint(0, 4 * WARP, 3), fk.empty(3, columns))
    )(rows_kernel)
    for what, want in (
        ("softmax", lambda x, t: x.softmax(1)),
        ("rms_norm", lambda x, t: x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt()),
        ("layer_norm", lambda x, t: torch.nn.functional.layer_norm(x, x.shape[1:], eps=1e-6)),
        ("cross_entropy", lambda x, t: torch.nn.functional.cross_entropy(
            x, t.long(), reduction="none")[:, None]),
        ("rotary", turned),
    )
)  # fmt: skip


# -- columns beyond the end -----------------------------------------------------------------------
@cute.kernel
def columns_kernel(mX, mY, what):
    """Process one row of 50 elements in a buffer of 64. All threads read the buffer, and mask the
    tail before it affects the result, y[0]."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX, sP = smem(THREADS), smem(4)
    inside = tidx < n
    if inside:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    x = sX[tidx]
    if const_expr(what == "sum"):
        total = cute.arch.warp_reduction_sum(x if inside else Float32(0.0))
        if tidx % WARP == 0:
            sP[tidx // WARP] = total
        cute.arch.sync_threads()
        part = sP[tidx % 4]  # only two of the four were written
        total = cute.arch.warp_reduction_sum(part if tidx % WARP < 2 else Float32(0.0))
        if tidx == 0:
            mY[0] = total
    elif const_expr(what == "tree"):
        for step in cutlass.range_constexpr(6):
            half = 32 >> step
            other = sX[(tidx + half) % THREADS]
            cute.arch.sync_threads()
            if tidx < half:
                sX[tidx] = sX[tidx] + (other if tidx + half < n else Float32(0.0))
            cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = sX[0]
    elif const_expr(what == "shuffles"):  # lanes beyond the end pass on values that are dropped
        if tidx < WARP:
            y = sX[WARP + tidx]
            for step in cutlass.range_constexpr(5):
                other = cute.arch.shuffle_sync_down(y, offset=16 >> step)
                y += other if WARP + tidx + (16 >> step) < n else Float32(0.0)
            x = cute.arch.warp_reduction_sum(x)
            if tidx == 0:
                mY[0] = x + y
    elif const_expr(what == "votes"):
        count = cute.arch.popc(cute.arch.vote_ballot_sync(inside and x > 0.0))
        some = cute.arch.vote_any_sync(x > 100.0 and inside)
        if tidx % WARP == 0:
            sP[tidx // WARP] = Float32(-1000.0) if some else Float32(count)
        cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = sP[0] + sP[1]
    elif const_expr(what == "maximum"):
        best = Float32(0.0)
        if inside and x > 0.0:
            best = x
        best = cute.arch.warp_reduction_max(best)
        if tidx % WARP == 0:
            sP[tidx // WARP] = best
        cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = cute.arch.fmax(sP[0], sP[1])
    elif const_expr(what == "scan"):  # a value never moves to the left
        for step in cutlass.range_constexpr(6):
            apart = 1 << step
            other = sX[(tidx + THREADS - apart) % THREADS]
            cute.arch.sync_threads()
            if tidx >= apart:
                sX[tidx] = sX[tidx] + other
            cute.arch.sync_threads()
        if tidx == n - 1:
            mY[0] = sX[tidx]
    elif const_expr(what == "atomics"):
        if tidx == 0:
            sP[0] = Float32(0.0)
        cute.arch.sync_threads()
        doubled = x + x
        if inside:
            cute.arch.atomic_add(sP.iterator, 0.5 * doubled)
        cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = sP[0]
    elif const_expr(what == "overwritten"):  # read too early, then read again
        cute.arch.sync_threads()
        sX[THREADS - 1 - tidx] = x if inside else Float32(0.0)
        cute.arch.sync_threads()
        x = cute.arch.warp_reduction_sum(sX[tidx])
        if tidx % WARP == 0:
            sP[tidx // WARP] = x
        cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = sP[0] + sP[1]
    elif const_expr(what == "copied_on"):
        sZ = smem(THREADS)
        sZ[THREADS - 1 - tidx] = x * 2.0
        cute.arch.sync_threads()
        total = Float32(0.0)
        for k in cutlass.range(n, unroll=1):
            total += sZ[THREADS - 1 - k]
        if tidx == 0:
            mY[0] = 0.5 * total
    elif const_expr(what == "register_array"):
        rX = cute.make_rmem_tensor(2, Float32)
        rX[0] = x if inside else Float32(0.0)
        rX[1] = x
        value = rX[Int32(n < 0)]  # an index known only at run time
        total = cute.arch.warp_reduction_sum(value)
        if tidx % WARP == 0:
            sP[tidx // WARP] = total
        cute.arch.sync_threads()
        if tidx == 0:
            mY[0] = sP[0] + sP[1]


def of_columns(what, want=lambda x: x.sum()):
    return family(block=THREADS, what=what, name=f"tail_in_{what}", want=lambda x, y: want(x)[None],
                  args=lambda: (fk.randn(50), fk.empty(1)))(columns_kernel)  # fmt: skip


COLUMNS = (
    *map(of_columns, ("sum", "tree", "shuffles", "scan", "atomics", "overwritten", "copied_on",
                      "register_array")),
    of_columns("votes", lambda x: (x > 0).sum().float()),
    of_columns("maximum", lambda x: x.max()),
)  # fmt: skip


# -- partly written words ------------------------------------------------------------
@cute.kernel
def words_kernel(mX, mY, width):
    """Compute y = 3 x through shared memory, written element by element, read `width` elements
    at a time."""
    tidx, _, _ = cute.arch.thread_idx()
    n, dtype = mX.shape[0], mX.element_type
    sX = smem(THREADS, dtype)
    if tidx < n:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    if tidx * width < n:
        rX = cute.make_rmem_tensor(width, dtype)
        cute.autovec_copy(cute.zipped_divide(sX, (width,))[None, tidx], rX)
        rX.store(rX.load() + rX.load() + rX.load())
        for k in cutlass.range_constexpr(width):
            if tidx * width + k < n:
                mY[tidx * width + k] = rX[k]


WORDS = tuple(
    family(block=THREADS, width=width, name=name, want=lambda x, y: 3 * x,
           args=lambda n=n, kind=kind: (fk.randint(0, 9, n, dtype=kind), fk.empty(n, dtype=kind))
    )(words_kernel)
    for name, width, n, kind in (
        ("half_words", 2, 33, torch.float16),
        ("half_vectors", 8, 43, torch.float16),
        ("byte_words", 4, 41, torch.int8),
        ("float_vectors", 4, 42, torch.float32),
    )
)  # fmt: skip


@family(block=THREADS,
        args=lambda: (fk.randint(0, 9, 42, dtype=torch.int8), fk.empty(11, dtype=torch.int32)),
        want=as_words)  # fmt: skip
@cute.kernel
def masked_bytes(mX, mY):
    """Read four bytes as one word and mask bytes beyond the end."""
    tidx, _, _ = cute.arch.thread_idx()
    n = mX.shape[0]
    sX = smem(THREADS, Int8)
    if tidx < n:
        sX[tidx] = mX[tidx]
    cute.arch.sync_threads()
    if tidx * 4 < n:
        left = n - tidx * 4
        keep = Int32(-1) if left >= 4 else (Int32(1) << (left * 8)) - 1
        mY[tidx] = cute.recast_tensor(sX, Int32)[tidx] & keep


# -- tiles ----------------------------------------------------------------------------------------
@family(block=(16, 4, 1), args=lambda: (fk.randn(13, 10), fk.empty(10, 13)),
        want=lambda x, y: 2 * x.T)  # fmt: skip
@cute.kernel
def swizzled_edge(mX, mY):
    """Transpose through a swizzled tile that the matrix does not fill."""
    tx, ty, _ = cute.arch.thread_idx()
    plain = cute.make_layout((16, 16), stride=(16, 1))
    sT = smem(cute.make_composed_layout(cute.make_swizzle(4, 0, 4), 0, plain))
    rows, columns = mX.shape
    for k in cutlass.range_constexpr(4):
        if ty + 4 * k < rows and tx < columns:
            sT[ty + 4 * k, tx] = mX[ty + 4 * k, tx]
    cute.arch.sync_threads()
    rT = cute.make_rmem_tensor(4, Float32)
    for k in cutlass.range_constexpr(4):
        rT[k] = sT[tx, ty + 4 * k] * 2.0
    cute.arch.sync_threads()  # the compiler must not move the loads after the guard
    for k in cutlass.range_constexpr(4):
        if ty + 4 * k < columns and tx < rows:
            mY[ty + 4 * k, tx] = rT[k]


@family(block=THREADS, grid=by_parts(THREADS), args=pair(100), want=of_neighbours)
@cute.kernel
def halo(mX, mY):
    """Sum neighbouring elements; at the ends, threads read a halo that was not loaded."""
    tidx, bidx = indices()
    n, i = mX.shape[0], bidx * THREADS + tidx
    sX = smem(THREADS + 2)
    if i < n:
        sX[tidx + 1] = mX[i]
    if tidx == 0 and i > 0:
        sX[0] = mX[i - 1]
    if tidx == THREADS - 1 and i + 1 < n:
        sX[THREADS + 1] = mX[i + 1]
    cute.arch.sync_threads()
    left, here, right = sX[tidx], sX[tidx + 1], sX[tidx + 2]
    total = here + (left if i > 0 else Float32(0.0)) + (right if i + 1 < n else Float32(0.0))
    if i < n:
        mY[i] = total


@family(block=(8, 8, 1), args=lambda: (fk.randn(7, 5), fk.randn(5, 6, seed=1), fk.empty(7, 6)),
        want=lambda a, b, c: a @ b)  # fmt: skip
@cute.kernel
def product_edge(mA, mB, mC):
    """Compute C = A B in one 8 x 8 tile with K = 8; the matrices fill it in no dimension."""
    tx, ty, _ = cute.arch.thread_idx()
    sA, sB = smem((8, 8)), smem((8, 8))
    (m, k), n = mA.shape, mB.shape[1]
    if ty < m and tx < k:
        sA[ty, tx] = mA[ty, tx]
    if ty < k and tx < n:
        sB[ty, tx] = mB[ty, tx]
    cute.arch.sync_threads()
    total = Float32(0.0)
    for i in cutlass.range_constexpr(8):
        product = sA[ty, i] * sB[i, tx]
        total += product if i < k else Float32(0.0)
    if ty < m and tx < n:
        mC[ty, tx] = total


@family(block=WARP, args=lambda: (fk.randn(8 * WARP), fk.empty(WARP)),
        want=lambda x, y: x.view(2, WARP, 4).sum((0, 2)), static=(0,))  # fmt: skip
@cute.kernel
def stages(mX, mY):
    """Each round reads three stages, including stages of missing tiles."""
    tidx, bidx = indices()
    sX = smem((4, WARP, 3))
    gX = cute.zipped_divide(mX, (4,))
    tiles = 2 + bidx
    for s in cutlass.range_constexpr(3):
        if s < tiles:
            cute.copy(async_atom(), gX[None, s * WARP + tidx], sX[None, tidx, s])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    total = Float32(0.0)
    for s in cutlass.range_constexpr(3):
        rX = cute.make_rmem_tensor(4, Float32)
        cute.autovec_copy(sX[None, tidx, s], rX)
        part = rX.load().reduce(cute.ReductionOp.ADD, Float32(0.0), 0)
        total += part if s < tiles else Float32(0.0)
    mY[tidx] = total


# -- other blocks, bulk copies --------------------------------------------------------------------
@family(block=THREADS, grid=2, cluster=(2, 1, 1), args=pair(2, 50), want=lambda x, y: x.flip(0) + 1)
@cute.kernel
def peer(mX, mY):
    """Blocks of a cluster read each other's buffers, which the row does not fill completely."""
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    n = mX.shape[1]
    sX = smem(THREADS)
    if tidx < n:
        sX[tidx] = mX[rank, tidx]
    cluster_sync()
    there = cute.arch.map_dsmem_ptr(sX.iterator + tidx, 1 - rank)
    x = there.load() + 1.0
    cluster_sync()
    if tidx < n:
        mY[rank, tidx] = x


@family(block=THREADS, args=pair(THREADS), want=lambda x, y: x, static=(0,))
@cute.kernel
def bulk_rows(mX, mY):
    """Bulk copies fill whole tiles; the last buffer receives no copy, but is read like the other
    buffers."""
    tidx, bidx = indices()
    sX = smem((THREADS, 2))
    mbarrier = cutlass.memory.SmemAllocator().allocate_array(Int64, 1)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), Float32)
    init_mbarriers((mbarrier, 1))
    if tidx // WARP == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(mbarrier, 4 * THREADS)
            cute.copy(atom, mX, sX[None, 0], mbar_ptr=mbarrier)
    cute.arch.mbarrier_wait(mbarrier, 0)
    first, second = sX[tidx, 0], sX[tidx, 1]
    cute.arch.sync_threads()
    mY[tidx] = first + (second if bidx > 0 else Float32(0.0))
