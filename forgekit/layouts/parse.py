"""Parse layouts, tensors and their MLIR types, static or with `?`, as CuTe DSL prints them.

    (4,8):(8,1)                                     a layout
    S<3,4,3> o 0 o (8,64):(64,1)                    a composed layout
    tensor<ptr<f32, gmem, align<16>> o (?,?):(?{i64},1)>
    tensor<(0,0) o (8,8):(1@0,1@1)>                 a coordinate tensor
    !cute.memref<f32, smem, "(32,32):(33,1)">       the MLIR type of a tensor

The parser accepts the forms that CuTe DSL 4.8.1 prints; tests/layouts/test_parse.py lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from forgekit.arguments import checked
from forgekit.errors import UsageError, usage_error
from forgekit.layouts.layout import Layout
from forgekit.layouts.swizzle import ComposedLayout, Swizzle
from forgekit.layouts.tuples import Basis, Dynamic, IntTuple

_EXAMPLE = 'for example "(4,8):(8,1)" or "tensor<ptr<f32, gmem> o (4,8):(8,1)>", as CuTe prints it'
_SPACES = ("gmem", "smem", "rmem", "generic", "tmem", "dsmem")


@dataclass(frozen=True)
class Described:
    """The properties that the text of a printed layout or tensor states.

    Attributes:
        layout: the Layout or ComposedLayout.
        dtype: the element type as CuTe prints it, such as `f32`; None for a layout without a
            tensor.
        space: the tensor's memory space, such as `gmem` or `smem`; None if it is not printed.
        align_bytes: the alignment of the first element; None if it is only the natural alignment of
            the element type.
        origin: the first coordinate of a coordinate tensor; None for any other tensor or layout.
        pointer_swizzle: the pointer's swizzle, which applies to byte addresses; None if there is no
            swizzle.
    """

    layout: Layout | ComposedLayout
    dtype: str | None = None
    space: str | None = None
    align_bytes: int | None = None
    origin: IntTuple = None
    pointer_swizzle: Swizzle | None = None


@checked()
def parse(text: str) -> Described:
    """Parse a printed CuTe layout or tensor; raise UsageError if the text is anything else."""
    reader = _Reader(text.strip())
    described = reader.described()
    reader.end()
    return described


class _Reader:
    """A recursive-descent parser. Most methods are named after the element that they parse."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def error(self, needed: str) -> UsageError:
        shown = self.text if len(self.text) <= 100 else self.text[:97] + "..."
        rest = self.text[self.at : self.at + 20] or "the end"
        return usage_error(f'reading "{shown}"', rest, needed, _EXAMPLE)

    def take(self, pattern: str) -> str | None:
        """Consume and return the text that matches the pattern at the current position, and skip
        the spaces after it. Return None if the pattern does not match."""
        match = re.compile(rf"({pattern})\s*").match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[1]

    def need(self, pattern: str, name: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise self.error(name)
        return found

    def end(self) -> None:
        if self.at != len(self.text):
            raise self.error("nothing more")

    def described(self) -> Described:
        if self.take(r"!cute\.(layout|composed_layout)<"):
            described = Described(self.quoted_layout())
        elif self.take(r"!cute\.memref<"):
            described = replace(self.pointer(), layout=self.quoted_layout())
        elif self.take(r"!cute\.coord_tensor<"):
            self.need('"', "a quoted coordinate")
            origin = self.tuple()
            self.need(r'"\s*,', "a quoted coordinate and a layout")
            described = Described(self.quoted_layout(), origin=origin)
        elif self.take(r"tensor<ptr<"):
            pointer = self.pointer()
            self.need(">", "'>'")
            described = replace(pointer, layout=self.composed_with())
        elif self.take(r"tensor<(?=[(\d?])"):
            origin = self.tuple()
            described = Described(self.composed_with(), origin=origin)
        elif self.take(r"Tensor<0x[0-9a-f]+@"):
            space = self.need("[a-z]+", "a memory space")
            described = Described(self.composed_with(), space=space)
        elif self.take("FakeTensor<"):
            described = self.fake_tensor()
        elif self.take("tensor_value<"):
            raise self.error("a layout; a tensor value (the result of .load()) has only a shape")
        else:
            return Described(self.layout())
        self.need(">", "'>'")
        return described

    def composed_with(self) -> Layout | ComposedLayout:
        self.need("o ", "' o ' and a layout")
        return self.layout()

    def fake_tensor(self) -> Described:
        dtype = self.need(r"\w+", "an element type")
        self.need(",", "','")
        shape = self.tuple()
        self.need(",", "','")
        return Described(Layout(shape, self.tuple()), dtype=dtype)

    def pointer(self) -> Described:
        """Parse text such as `f32, gmem, align<16>, S<3,4,3>`, up to the bracket or the quoted
        layout that follows."""
        dtype = self.need(r"[A-Za-z]\w*", "an element type such as f32")
        space: str | None = None
        align: int | None = None
        swizzle: Swizzle | None = None
        while self.take(r",\s*(?=[A-Za-z])"):
            if self.take("align<"):
                align = int(self.need(r"\d+", "a number of bytes"))
                self.need(">", "'>'")
            elif self.text.startswith("S<", self.at):
                swizzle = self.swizzle()
            else:
                space = self.need("|".join(_SPACES), "a memory space: " + ", ".join(_SPACES))
        return Described(Layout(1), dtype, space, align, None, swizzle)

    def quoted_layout(self) -> Layout | ComposedLayout:
        self.need(r',?\s*"', "a quoted layout")
        layout = self.layout()
        self.need('"', "the closing quote")
        return layout

    def layout(self) -> Layout | ComposedLayout:
        """Parse `shape:stride`, or `inner o offset o outer`."""
        inner: Swizzle | Layout
        if self.text.startswith("S<", self.at):
            inner = self.swizzle()
        else:
            inner = self.affine()
            if self.take(r"(?=o\s)") is None:
                return inner
        self.need("o ", "' o ', an offset and a layout")
        offset = self.tuple()
        self.need("o ", "' o ' and a layout")
        return ComposedLayout(inner, offset, self.affine())

    def affine(self) -> Layout:
        shape = self.tuple()
        self.need(":", "':' and strides")
        return Layout(shape, self.tuple())

    def swizzle(self) -> Swizzle:
        # CuTe omits the closing bracket of S<3,4,-3>.
        found = self.need(r"S<\d+,\d+,(\d+>|-\d+>?)", "a swizzle such as S<3,4,3>")
        return Swizzle(*map(int, re.findall(r"-?\d+", found)))

    def tuple(self) -> IntTuple:
        """Parse sizes, strides or coordinates: a leaf, or a nested tuple of leaves."""
        if not self.take(r"\("):
            return self.leaf()
        entries: list[IntTuple] = []
        while not self.take(r"\)"):
            if entries:
                self.need(",", "',' or ')'")
            if not self.take(r"(?=\))"):  # allow (4,), Python's tuple with one element
                entries.append(self.tuple())
        return tuple(entries)

    def leaf(self) -> int | Dynamic | Basis:
        value: int | Dynamic
        if unknown := self.take(r"\?(\{[^}]*\})?"):
            divisor = re.search(r"div=(\d+)", unknown)
            value = Dynamic(int(divisor[1]) if divisor else 1, 64 if "i64" in unknown else 32)
        else:
            value = int(self.need(r"-?\d+", "a number or ?"))
        modes = []
        while self.take("@"):
            modes.append(int(self.need(r"\d+", "the number of a mode")))
        return Basis(value, tuple(reversed(modes))) if modes else value
