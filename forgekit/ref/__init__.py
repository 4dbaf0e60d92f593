"""What the operators compute, in PyTorch: the references that tests and benchmarks compare with."""

from forgekit.ref.reduce import reduce_sum
from forgekit.ref.softmax import softmax, softmax_backward
from forgekit.ref.transpose import copy_transpose

__all__ = ["copy_transpose", "reduce_sum", "softmax", "softmax_backward"]
