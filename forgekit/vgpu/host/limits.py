"""Check launches against a GPU's limits: the sizes of grids, blocks and clusters, and shared
memory."""

from __future__ import annotations

import math

from forgekit.vgpu.code import Code
from forgekit.vgpu.errors import LaunchError
from forgekit.vgpu.launch_record import Dim3, LaunchRecord
from forgekit.vgpu.wording import got_needed

# The architectures that the virtual GPU supports.
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
DEFAULT_ARCH = "sm_90a"

# CUDA C++ programming guide, "Technical specifications per compute capability".
MAX_BLOCK_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
BEYOND_32_BITS = -(2**31)  # stands for a number of blocks that does not fit into an Int32
BLOCKS_A_MULTIPROCESSOR, THREADS_A_MULTIPROCESSOR = 32, 2048
MULTIPROCESSORS = 132  # on an H100 SXM or H200 SXM
MAX_LAUNCHES = 2000  # in one call: compiled host code needs new stack space for each launch
MAX_CLUSTER = 16  # in blocks; CuTe DSL allows sizes above 8, which are "non-portable"
MAX_SHARED_BYTES = {"sm_80": 163 * 1024, "sm_86": 99 * 1024, "sm_89": 99 * 1024,
                    "sm_90": 227 * 1024, "sm_100": 227 * 1024, "sm_103": 227 * 1024,
                    "sm_120": 99 * 1024}  # fmt: skip


def name_beyond_ascii(name: str) -> str:
    """Return the message for a kernel with a non-ASCII name. NVIDIA's compiler rejects such a
    kernel."""
    return got_needed(
        "name of a kernel, its class or one of its constants", repr(name),
        "ASCII letters, because the name also appears in the machine code",
        "rename it; the host function, variables and comments may contain any letters",
    )  # fmt: skip


def max_shared_bytes(arch: str) -> int:
    """Return the maximum shared memory per block, in bytes, for an architecture such as
    `sm_90a`."""
    return MAX_SHARED_BYTES.get(arch.rstrip("af"), 227 * 1024)


def blocks_at_once(threads: int) -> int:
    """Return the maximum number of blocks of `threads` threads that a GPU runs at the same time."""
    return MULTIPROCESSORS * min(BLOCKS_A_MULTIPROCESSOR, THREADS_A_MULTIPROCESSOR // threads)


def check_limits(program: Code, record: LaunchRecord) -> None:
    """Refuse a launch that no GPU of the architecture can run.

    Raises:
        LaunchError: a size exceeds its limit; the message states both.
    """
    _check_geometry(record.grid, record.block)
    required, most = program.kernel.required_block, program.kernel.max_threads
    block, threads = record.block, math.prod(record.block)
    if (required is not None and required != block) or (most and threads > most):
        needed = required or f"at most {most} threads"
        raise _refused(
            f"a block of {block}", f"{needed}, the compiled-in size",
            "use the block size for which the kernel was compiled, or recompile the kernel",
        )  # fmt: skip
    if record.cluster != (1, 1, 1):
        _check_cluster(program, record)
    blocks, fit = math.prod(record.grid), blocks_at_once(threads)
    if record.cooperative and blocks > fit:  # all blocks must run at the same time
        raise _refused(
            f"{blocks:,} blocks of {threads} threads",
            f"at most {fit:,}, the number that a GPU with {MULTIPROCESSORS} multiprocessors runs "
            "at once",
            "let each block do more work", what="cooperative launch",
        )  # fmt: skip
    limit, need = max_shared_bytes(program.target), program.shared_bytes(record)
    if need > limit:
        raise _refused(
            f"{need:,} bytes of shared memory per block",
            f"at most {limit:,} bytes on {program.target}",
            "use smaller tiles, fewer stages or a narrower type",
        )  # fmt: skip


def check_count(launches: int) -> None:
    """Raise LaunchError if one call of a host function made more than MAX_LAUNCHES launches."""
    if launches > MAX_LAUNCHES:
        raise _refused(
            f"more than {MAX_LAUNCHES:,} launches in one call", f"at most {MAX_LAUNCHES:,}",
            "let one launch do the work of these launches",
        )  # fmt: skip


def _check_geometry(grid: Dim3, block: Dim3) -> None:
    threads = math.prod(block)
    if BEYOND_32_BITS in grid:
        raise _refused(
            f"a grid of more than {MAX_GRID[0]:,} blocks in {'xyz'[grid.index(BEYOND_32_BITS)]}",
            f"at most {MAX_GRID}, because sizes are 32-bit numbers",
            "let each block do more work, or launch once per piece of the input",
        )
    if min(*block, *grid) < 1:
        raise _refused(
            f"a grid of {grid} blocks of {block} threads", "at least 1 in every dimension",
            "find the size that is 0; round counts up with cute.ceil_div, or skip a launch "
            "without work",
        )  # fmt: skip
    if threads > MAX_BLOCK_THREADS or _exceeds(block, MAX_BLOCK):
        raise _refused(
            f"a block of {block} = {threads:,} threads",
            f"at most {MAX_BLOCK_THREADS} threads, and at most {MAX_BLOCK} per dimension",
            "use smaller blocks and more of them, or let each thread do more work",
        )
    if _exceeds(grid, MAX_GRID):
        raise _refused(
            f"a grid of {grid} blocks", f"at most {MAX_GRID}",
            "put the longest dimension in x, or let each block do more work",
        )  # fmt: skip


def _check_cluster(program: Code, record: LaunchRecord) -> None:
    cluster, remedy = record.cluster, ""
    if program.target.startswith("sm_8"):
        needed, remedy = f"no clusters on {program.target}", "compile for sm_90a"
    elif min(cluster) < 1 or record.cluster_blocks > MAX_CLUSTER:
        needed = f"1 to {MAX_CLUSTER} blocks per cluster (every GPU with clusters supports 8)"
        remedy = "use a smaller cluster"
    elif any(g % c for g, c in zip(record.grid, cluster, strict=True)):
        needed = f"a grid of whole clusters, not {record.grid}"
        remedy = (
            "round the grid up to a multiple of the cluster size; blocks without work may return"
        )
    else:
        return
    raise _refused(f"clusters of {cluster} blocks", needed, remedy)


def _exceeds(sizes: Dim3, limits: Dim3) -> bool:
    return any(n > most for n, most in zip(sizes, limits, strict=True))


def _refused(got: str, needed: str, remedy: str, what: str = "launch") -> LaunchError:
    return LaunchError(got_needed(what, got, needed, remedy))
