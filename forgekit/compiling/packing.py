"""Tensors as the virtual GPU's host code takes them: pointer, dynamic sizes, dynamic strides.

The DSL's host functions take a tensor as one structure: an 8-byte pointer, each dynamic size as
int32, each dynamic stride as int64, at their natural alignment; what is static is left out.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from forgekit.vgpu.host.arguments import READ_ONLY_ATTRIBUTE, SOURCE_ATTRIBUTE

if TYPE_CHECKING:
    import torch

    from forgekit.compiling.specs import TensorSpec

__all__ = ["PackedTensor", "pack"]


class PackedTensor:
    """One tensor argument in memory, kept alive with the tensor it points into."""

    def __init__(self, tensor: torch.Tensor, fields: list[ctypes.Array]) -> None:
        setattr(self, SOURCE_ATTRIBUTE, tensor)
        size = 0
        offsets = []
        for field in fields:
            unit = ctypes.alignment(field)
            size = -(-size // unit) * unit
            offsets.append(size)
            size += ctypes.sizeof(field)
        self._buffer = ctypes.create_string_buffer(size + 8)
        for offset, field in zip(offsets, fields, strict=True):
            ctypes.memmove(ctypes.addressof(self._buffer) + offset, field, ctypes.sizeof(field))

    def __c_pointers__(self) -> list[int]:
        return [ctypes.addressof(self._buffer)]


def pack(tensor: torch.Tensor, spec: TensorSpec) -> PackedTensor:
    """Pack a tensor that fits `spec`."""
    sizes = [n for n, s in zip(tensor.shape, spec.shape, strict=True) if not isinstance(s, int)]
    strides = [
        n for n, s in zip(tensor.stride(), spec.stride or (), strict=True) if not isinstance(s, int)
    ]
    pointer = (ctypes.c_uint64 * 1)(tensor.data_ptr())
    fields: list[ctypes.Array] = [pointer]
    if sizes:
        fields.append((ctypes.c_int32 * len(sizes))(*sizes))
    if strides:
        fields.append((ctypes.c_int64 * len(strides))(*strides))
    packed = PackedTensor(tensor, fields)
    setattr(packed, READ_ONLY_ATTRIBUTE, spec.read_only)
    return packed
