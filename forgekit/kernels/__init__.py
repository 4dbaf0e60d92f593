"""The production kernels, in pure CuTe DSL, that the three weeks develop step by step."""

WARP = 32  # threads per warp
MOST_THREADS = 1024  # maximum threads per block
VECTOR_BYTES = 16  # bytes in a thread's widest access
SECTOR_BYTES = 32  # L2 reads and writes whole sectors, even for an access to part of a sector
