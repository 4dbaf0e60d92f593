"""Implement CuTe's layout algebra in plain Python, which runs on any machine."""

from forgekit.layouts.algebra import (
    coalesce,
    complement,
    composition,
    filter_zeros,
    left_inverse,
    right_inverse,
)
from forgekit.layouts.convert import of, read
from forgekit.layouts.explain import Explanation, explain
from forgekit.layouts.layout import Layout, slice_and_offset, slice_layout
from forgekit.layouts.make import (
    cosize,
    group_modes,
    make_identity_layout,
    make_layout,
    make_layout_tv,
    select,
    size,
)
from forgekit.layouts.parse import Described, parse
from forgekit.layouts.swizzle import ComposedLayout, Swizzle
from forgekit.layouts.tiling import (
    blocked_product,
    flat_divide,
    flat_product,
    logical_divide,
    logical_product,
    raked_product,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)
from forgekit.layouts.tuples import Basis, Dynamic

__all__ = [
    "Basis", "ComposedLayout", "Described", "Dynamic", "Explanation", "Layout", "Swizzle",
    "blocked_product", "coalesce", "complement", "composition", "cosize", "explain",
    "filter_zeros", "flat_divide", "flat_product", "group_modes", "left_inverse", "logical_divide",
    "logical_product", "make_identity_layout", "make_layout", "make_layout_tv", "of", "parse",
    "raked_product", "read", "right_inverse", "select", "size", "slice_and_offset",
    "slice_layout", "tiled_divide", "tiled_product", "zipped_divide", "zipped_product",
]  # fmt: skip
