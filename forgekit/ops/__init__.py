"""Operators for PyTorch over the kernels: `forgekit.ops.copy_transpose(x)`."""

from forgekit.ops.transpose import copy_transpose

__all__ = ["copy_transpose"]
