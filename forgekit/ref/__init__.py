"""What the operators compute, in PyTorch: the references that tests and benchmarks compare with."""

from forgekit.ref.transpose import copy_transpose

__all__ = ["copy_transpose"]
