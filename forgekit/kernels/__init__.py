"""The production kernels that the weeks build up to, in pure CuTe DSL."""

WARP = 32  # threads per warp
MOST_THREADS = 1024  # the maximum per block
VECTOR_BYTES = 16  # the widest access of a thread
SECTOR_BYTES = 32  # the unit of L2's reads and writes; an access to a part costs a whole sector
