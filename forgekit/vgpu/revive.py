"""Make a callable of a compiled module that was kept as bytes, linked against the virtual GPU."""

from __future__ import annotations

import inspect
from typing import Any

from forgekit.vgpu import intercept


def revive(
    module: bytes, function_name: str, signature: inspect.Signature, ptx: str, arch: str
) -> Any:
    """The DSL's compiled function for MLIR bytecode that the DSL's compiler has finished.

    function_name: the host function's mangled name; signature: its Python signature; ptx: the
    kernels it launches.
    """
    intercept.prepare()
    from cutlass._mlir import ir
    from cutlass.cutlass_dsl.cuda_jit_executor import CudaDialectJitCompiledFunction

    with ir.Context(), ir.Location.unknown():
        parsed = ir.Module.parse(module)
        engine = intercept.make_engine(parsed, 2, ptx, arch)
        entry = engine.lookup(function_name)
    return CudaDialectJitCompiledFunction(
        parsed, engine, entry, signature, function_name, None, False, None
    )
