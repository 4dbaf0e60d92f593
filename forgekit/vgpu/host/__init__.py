"""Run the launches of CuTe DSL's host code on the virtual GPU.

intercept.py        `install` and `uninstall`
hooks.py            replacements for the DSL's methods
cuda_runtime.py     the CUDA runtime that compiled host code calls; records launches
launching.py, limits.py    a launch: options, limits, batches
arguments.py        the tensors among a call's arguments
signature.py        checks a call against the compiled function's signature
"""
