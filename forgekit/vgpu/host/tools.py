"""What compiling and calling a function needs of CuTe DSL's host side and of torch's tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.vgpu.host import arguments, hooks, intercept, limits, reporting, signature
from forgekit.vgpu.host.scratch import scratch
from forgekit.vgpu.memory import fresh


class Host:
    """The host side.

    lock: held while something compiles, since CuTe DSL compiles one function at a time. prepare:
    make CuTe DSL ready for functions of the virtual GPU, without switching to it. revive: its
    compiled function for the bytecode of its compiler. name_beyond_ascii: the message about such a
    kernel; beyond_32_bits: what of a layout wraps in a kernel. real_device: the type of the device
    in whose memory a tensor really is. scratch: the folder for temporary files. finish: print what
    was found in a script that went on, and return the exit status for it.

    mark_blank: the elements of a tensor have not been written yet; copy_marks: nor have those of
    its copy; marks: which elements have been written, a byte for each, None if it is not known.
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
        """A tensor as compiled host code takes it; fields: (bits, value) of its pointer, sizes and
        strides. read_only: a kernel that writes to it is stopped."""
        packed = signature.PackedTensor(tensor, fields)
        setattr(packed, arguments.READ_ONLY_ATTRIBUTE, read_only)
        return packed


HOST = Host()
