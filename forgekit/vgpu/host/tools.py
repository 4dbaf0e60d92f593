"""Provide the host-side functions that compiling and calling kernels need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.vgpu.host import arguments, hooks, intercept, limits, reporting, signature
from forgekit.vgpu.host.scratch import scratch
from forgekit.vgpu.memory import fresh


class Host:
    """Host-side functions for CuTe DSL and torch tensors.

    lock: held during a compilation, because CuTe DSL compiles one function at a time. prepare:
    prepare CuTe DSL to run functions on the virtual GPU; new compilations are not switched to it.
    revive: return CuTe DSL's compiled function for bytecode from its compiler. name_beyond_ascii:
    return the message for a kernel with a non-ASCII name. beyond_32_bits: describe the part of a
    layout that would overflow in a kernel. real_device: return the type of the device whose memory
    contains a tensor. scratch: return the folder for temporary files. finish: print the findings of
    a script that continued, and return its exit status.

    mark_blank: mark all elements of a tensor as unwritten; copy_marks: copy a tensor's marks to a
    copy of the tensor; marks: return one byte per element, nonzero if the element was written, or
    None if this is unknown.
    """

    lock = hooks.lock
    prepare = staticmethod(intercept.prepare)
    revive = staticmethod(intercept.revive)
    name_beyond_ascii = staticmethod(limits.name_beyond_ascii)
    beyond_32_bits = staticmethod(signature.beyond_32_bits)
    real_device = staticmethod(arguments.real_device)
    scratch = staticmethod(scratch)
    finish = staticmethod(reporting.finish)
    mark_blank = staticmethod(fresh.mark)
    copy_marks = staticmethod(fresh.copy_marks)
    marks = staticmethod(fresh.marks)

    @staticmethod
    def pack(tensor: Any, fields: Sequence[tuple[int, int]], *, read_only: bool) -> Any:
        """Pack a tensor for compiled host code.

        fields: (bits, value) of the pointer, the sizes and the strides; read_only: True if a kernel
        must not write to the tensor.
        """
        packed = signature.PackedTensor(tensor, fields)
        setattr(packed, arguments.READ_ONLY_ATTRIBUTE, read_only)
        return packed


HOST = Host()
