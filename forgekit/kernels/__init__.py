"""The production kernels that the weeks build up to, in pure CuTe DSL."""

WARP = 32  # threads
MOST_THREADS = 1024  # per block
VECTOR_BYTES = 16  # the widest access per thread
SECTOR_BYTES = 32  # the unit of L2's reads and writes; part of one costs as much as a whole one
