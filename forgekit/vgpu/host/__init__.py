"""The path from CuTe DSL's host code to a launch on the virtual GPU.

intercept.py        `install` and `uninstall`
hooks.py            the DSL's methods that are replaced
cuda_runtime.py     the CUDA runtime that compiled host code calls, which records launches
launching.py, limits.py    a launch: options, limits, batches
arguments.py        the tensors among a call's arguments
signature.py        checks that a call fits the compiled function
"""
