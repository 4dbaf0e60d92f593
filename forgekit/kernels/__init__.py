"""The production kernels that the weeks build up to, in pure CuTe DSL."""

WARP = 32  # threads
MOST_THREADS = 1024  # of a block
VECTOR_BYTES = 16  # the widest access of a thread
SECTOR_BYTES = 32  # what L2 reads and writes: a part of one costs as much as the whole
