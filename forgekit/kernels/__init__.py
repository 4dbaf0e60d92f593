"""The production kernels that the weeks build up to, in pure CuTe DSL."""

from forgekit.errors import usage_error

WARP = 32  # threads
MOST_THREADS = 1024  # of a block
VECTOR_BYTES = 16  # the widest access of a thread
SECTOR_BYTES = 32  # what L2 reads and writes: a part of one costs as much as the whole


def shares_warps(threads: int) -> bool:
    """Whether so many threads are whole warps, or a part that divides a warp."""
    return threads > 0 and (WARP % threads == 0 or threads % WARP == 0)


def check_threads(threads: int, kept: bool, needed: str) -> None:
    """Raise UsageError unless `kept`: a kernel would compute something wrong, and not notice."""
    if not kept or threads > MOST_THREADS:
        remedy = "256 is a good start"
        raise usage_error("threads", threads, f"{needed}, {MOST_THREADS} at most", remedy)
