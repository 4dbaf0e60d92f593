"""Provide PyTorch operators that use the kernels, and functions that choose the operators' backend.

    from forgekit.ops import copy_transpose, reduce_sum, softmax, softmax_backward

Importing this module also registers each operator with torch, such as `torch.ops.forgekit.softmax`.
"""

from forgekit.ops.backends import (
    backend_names,
    current_backend,
    register_backend,
    set_default_backend,
    use_backend,
)
from forgekit.ops.reduce import reduce_sum
from forgekit.ops.softmax import softmax, softmax_backward
from forgekit.ops.transpose import copy_transpose

__all__ = [
    "backend_names",
    "copy_transpose",
    "current_backend",
    "reduce_sum",
    "register_backend",
    "set_default_backend",
    "softmax",
    "softmax_backward",
    "use_backend",
]
