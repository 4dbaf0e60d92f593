"""The operators of `forgekit.ops`, by name: known without importing torch, for the command line."""

OPERATORS = ("copy_transpose", "reduce_sum", "softmax", "softmax_backward")
