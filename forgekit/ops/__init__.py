"""Operators for PyTorch over the kernels, and the choice of who computes them.

    from forgekit.ops import copy_transpose, reduce_sum, softmax, softmax_backward

Each is an operator of torch as well, `torch.ops.forgekit.softmax`, once this module is imported.
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
