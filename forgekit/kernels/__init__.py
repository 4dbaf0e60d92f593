"""The production kernels that the weeks build up to, in pure CuTe DSL."""

VECTOR_BYTES = 16  # the widest access of a thread
SECTOR_BYTES = 32  # what L2 reads and writes: a part of one costs as much as the whole

__all__ = ["SECTOR_BYTES", "VECTOR_BYTES"]
