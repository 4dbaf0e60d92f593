"""Test that parse() reads all layouts and tensors that CuTe DSL prints, and that the results print
the same text."""

from __future__ import annotations

from collections.abc import Callable

import cutlass
import cutlass.cute as cute
import pytest
import torch
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_tensor

from forgekit.errors import UsageError
from forgekit.layouts import Described, Dynamic, Layout, parse, read

# Text printed by CuTe DSL 4.8.1, by the object printed.
PRINTED = {
    "nested": "tensor<ptr<f32, gmem> o ((1,32),(?,?)):((0,1),(?,32))>",
    "argument, row-major": "tensor<ptr<f32, gmem, align<16>> o (?,?):(?{i64},1)>",
    "argument, divisible": "tensor<ptr<f16, gmem, align<32>> o (?{div=8},64):(1,?{i64 div=8})>",
    "64-bit sizes": "tensor<ptr<bf16, gmem> o (?,?{i64}):(?{i64},?{i64 div=8})>",
    "zipped_divide": "tensor<ptr<f32, gmem, align<16>> o "
    "((8,8),(?,?)):((?{i64},1),(?{i64 div=8},8))>",
    "partition": "tensor<ptr<f32, gmem, align<8>> o ((4,2),1,1):((1,?{i64}),0,0)>",
    "identity": "tensor<(0,0) o (?,?):(1@0,1@1)>",
    "tile of identity": "tensor<(?{div=8},?{div=8}) o (8,8):(1@0,1@1)>",
    "divided identity": "tensor<(0,0) o ((8,8),(?,?)):((1@0,1@1),(8@0,8@1))>",
    "nested identity": "(4,(2,3)):(1@0,(1@0@1,1@1@1))",
    "shared": "tensor<ptr<f32, smem, align<16>> o (32,32):(33,1)>",
    "shared, swizzled": "tensor<ptr<f16, smem, align<128>> o S<3,3,3> o 0 o (64,64):(64,1)>",
    "shared, pointer": "tensor<ptr<f16, smem, align<128>, S<3,4,3>> o (64,64):(64,1)>",
    "registers": "tensor<ptr<f32, rmem, align<32>> o (4,2):(1,4)>",
    "one mode": "tensor<ptr<i8, rmem, align<32>> o (4):(1)>",
    "float8": "tensor<ptr<f8E4M3FN, rmem, align<32>> o 4:1>",
    "CPU tensor": "tensor<ptr<f32, generic> o (3,4,5):(20,5,1)>",
    "negative shift": "S<3,4,-3 o 0 o (4,8):(8,1)",
    "layout of layout": "(4,4):(4,1) o (1,0) o (4,4):(1@0,1@1)",
    "empty": "():()",
    "negative": "(4,8):(-1,4)",
    "type of layout": '!cute.layout<"(4,8):(8,1)">',
    "type of composed": '!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">',
    "type of tensor": '!cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">',
    "type of swizzled": '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(64,64):(64,1)">',
    "type of identity": '!cute.coord_tensor<"(0,0)", "(64,32):(1@0,1@1)">',
    "dlpack": "Tensor<0x000055cdee780480@generic o (3,4,5):(20,5,1)>",
    "fake": "FakeTensor<Float32, (?{div=1}, ?{div=1}), (?{i64 div=1}, 1)>",
}


@pytest.mark.parametrize("text", PRINTED.values(), ids=list(PRINTED))
def test_every_printed_form_is_read(text: str) -> None:
    layout = str(parse(text).layout)
    if "Fake" in text:
        assert layout == "(?,?):(?{i64},1)"
    else:
        assert layout in text.replace("S<3,4,-3 ", "S<3,4,-3> ")


def test_all_that_a_tensor_says() -> None:
    assert parse(PRINTED["argument, divisible"]) == Described(
        Layout((Dynamic(8), 64), (1, Dynamic(8, 64))), "f16", "gmem", 32
    )
    swizzled = parse(PRINTED["shared, pointer"])
    assert str(swizzled.pointer_swizzle) == "S<3,4,3>"
    assert parse(PRINTED["tile of identity"]).origin == (Dynamic(8), Dynamic(8))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "got the end"),
        ("(4,8)", "needed ':' and strides"),
        ("(4,8):(1,4", r"needed ',' or '\)'"),
        ("(4,8):(1,4) x", "got x, needed nothing more"),
        ("tensor<ptr<f32, attic> o 4:1>", "needed a memory space: gmem, smem"),
        ("tensor<ptr<f32, gmem>> o 4:1", "needed 'o '|needed ' o '"),
        ("S<3,4> o 0 o 4:1", "needed a swizzle such as S<3,4,3>"),
        ("S<3,4,3 o 0 o 4:1", "needed a swizzle such as S<3,4,3>"),
        ("?{div=4:1", "needed ':' and strides"),
        ("4:1@", "number of a mode"),
        ("tensor_value<vector<64xf32> o (8, 8)>", "has only a shape"),
        ("nonsense", "as CuTe prints it"),
    ],
)
def test_anything_else_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(text)


def test_what_cute_prints_today_is_read() -> None:
    """The texts are printed while a kernel with many types of tensors is compiled."""
    seen: list[str] = []

    def see(*tensors: object) -> None:
        for tensor in tensors:
            described = read(tensor)
            assert str(described.layout) == str(tensor.layout)  # type: ignore[attr-defined]
            assert read(str(tensor.type)) == described  # type: ignore[attr-defined]
            seen.append(str(tensor))

    compile_tensors(see)
    assert len(seen) == len(set(seen)) == 13
    kinds = [PRINTED[kind] for kind in ("argument, row-major", "zipped_divide", "shared, swizzled")]
    assert set(kinds) <= set(seen)


def compile_tensors(see: Callable[..., None]) -> None:
    """Compile a kernel that passes tensors in every memory space to `see`."""

    @cute.kernel
    def kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        gA = cute.zipped_divide(mA, (8, 32))  # ((8,32),(RestM,RestN))
        cA = cute.make_identity_tensor(mA.shape)
        tv = cute.make_layout_tv(cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((2, 4)))
        tile = gA[(None, None), (bidx, 0)]
        tAgA = cute.composition(tile, tv[1])[tidx, None]
        smem = cutlass.memory.SmemAllocator()
        padded = cute.make_layout((32, 32), stride=(33, 1))
        plain = cute.make_layout((64, 64), stride=(64, 1))
        composed = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, plain)
        sA = smem.allocate_tensor(cutlass.Float32, padded, 16)
        sB = smem.allocate_tensor(cutlass.Float16, composed, 128)
        sC = smem.allocate_tensor(cutlass.Float16, plain, 128, swizzle=cute.make_swizzle(3, 4, 3))
        see(mA, mB, mC, cute.zipped_divide(mA, (8, 8)), tile, tAgA, sA, sB, sC)
        see(cA, cute.zipped_divide(cA, (8, 8)), cute.local_tile(cA, (8, 8), (bidx, bidx)))
        see(cute.make_rmem_tensor((4, 2), cutlass.Float32))

    @cute.jit
    def host(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
        kernel(mA, mB, mC).launch(grid=(1, 1, 1), block=(32, 1, 1))

    sym = cute.sym_int
    sizes = (sym(), sym())
    mA = make_fake_compact_tensor(cutlass.Float32, sizes, stride_order=(1, 0), assumed_align=16)
    mB = make_fake_compact_tensor(cutlass.Float16, (sym(divisibility=8), 64), assumed_align=32)
    mC = make_fake_tensor(cutlass.BFloat16, (sym(), sym(width=64)), (cute.sym_int64(), 1))
    for tensor in (mA, mB, mC, from_dlpack(torch.zeros(3, 4))):
        assert read(tensor).layout.rank == 2
    cute.compile(host, mA, mB, mC)
