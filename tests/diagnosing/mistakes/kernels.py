"""Define kernels with one mistake each, on the line with `# wrong`; test_diagnosis.py compiles
them.

`CASES` maps a name to (function to compile, kinds of its arguments, kind of diagnosis). Among the
kinds of arguments, `f32` is a 1-D tensor of dynamic length and `f32x2d` a 2-D tensor.
"""

import linecache
import math
from pathlib import Path

import cutlass  # noqa: F401
import cutlass.cute as cute
import numpy as np  # noqa: F401
import torch
from cutlass import Float32, Int32  # noqa: F401

TWO = ("f32", "f32")
CASES = {}


def first_of_row(a, row):
    return a[row, 0]  # wrong


# -- kernels with several statements --------------------------------------------------------------
# Name -> kind of diagnosis, statements, kinds of the arguments unless they are the usual ones.
KERNEL_BODIES = {
    "store_vector": ("store-dtype", """
    source = cute.local_tile(a, (4,), (t,))
    target = cute.local_tile(b, (4,), (t,))
    target.store(source.load())  # wrong""", "f32", "f16"),
    "loop_changes_type": ("type-changes", """
    total = 0
    for i in range(t):  # wrong
        total += a[i]
    b[t] = total"""),
    "if_changes_type": ("type-changes", """
    value = 0
    if t > 3:  # wrong
        value = a[t]
    b[t] = value"""),
    "first_assigned_in_if": ("assigned-in-branch", """
    if t > 3:
        value = a[t]
    else:
        value = 0.0
    b[t] = value  # wrong"""),
    "none_before_if": ("assigned-in-branch", """
    value = None
    if t > 3:  # wrong
        value = a[t]
    b[t] = value"""),
    "list_grows": ("list-in-loop", """
    values = []
    for i in range(t):  # wrong
        values.append(a[i])
    b[t] = values[0]"""),
    "early_return": ("early-exit", """
    if t > 3:
        return  # wrong
    b[t] = a[t]"""),
    "early_break": ("early-exit", """
    for i in range(t):
        if i > 2:
            break  # wrong
        b[i] = a[i]"""),
    "early_continue": ("early-exit", """
    for i in range(t):
        if i > 2:
            continue  # wrong
        b[i] = a[i]"""),
    "rank_in_helper": ("index-rank", """
    b[t] = first_of_row(a, t)"""),
    "thread_idx_not_unpacked": ("index-rank", """
    t = cute.arch.thread_idx()
    b[t] = a[t]  # wrong"""),
    "index_list": ("list-index", """
    weights = [1.0, 2.0, 3.0]
    b[t] = weights[t]  # wrong"""),
    "index_dict": ("list-index", """
    weights = {0: 1.0}
    b[t] = weights[t]  # wrong"""),
    "copy_without_alignment": ("copy-alignment", """
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=128)
    values = cute.make_rmem_tensor((4,), a.element_type)
    tiles = cute.zipped_divide(a, (4,))
    cute.copy(atom, tiles[(None, t)], values)  # wrong
    b[t] = values[0]"""),
    "copy_shapes_differ": ("copy-shape", """
    values = cute.make_rmem_tensor((8,), a.element_type)
    cute.basic_copy(cute.local_tile(a, (4,), (t,)), values)  # wrong
    b[t] = values[0]"""),
    "dynamic_shared_memory": ("dynamic-layout", """
    memory = cutlass.memory.SmemAllocator()
    tile = memory.allocate_tensor(Float32, cute.make_layout(a.shape[0]), 16)  # wrong
    tile[t] = a[t]
    b[t] = tile[t]"""),
    "sum_of_tuple": ("unpack-three", """
    t = cute.arch.thread_idx()
    b[t + 1] = a[t + 1]  # wrong"""),
    "repeated_tuple": ("unpack-three", """
    i = cute.arch.block_idx() * 128
    b[i] = a[i]  # wrong"""),
    "pieces_of_a_thread": ("tensor-arithmetic", """
    tXgX = cute.local_tile(a, (4,), (t,))
    tXgY = cute.local_tile(b, (4,), (t,))
    tXgY.store(3.0 * tXgX)  # wrong"""),
    "values_and_a_piece": ("tensor-arithmetic", """
    tXgX = cute.local_tile(a, (4,), (t,))
    tXgY = cute.local_tile(b, (4,), (t,))
    tXgY.store(tXgX.load() + tXgY)  # wrong"""),
    "predicate_for_each_element": ("copy-predicate", """
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tXgX = cute.zipped_divide(cute.local_tile(a, (8,), (t,)), (1,))
    tXgY = cute.zipped_divide(cute.local_tile(b, (8,), (t,)), (1,))
    tXpX = cute.make_rmem_tensor((3,), cutlass.Boolean)
    tXpX[0] = t < 3
    cute.copy(atom, tXgX, tXgY, pred=tXpX)  # wrong"""),
    "predicate_of_one_boolean": ("copy-predicate", """
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tXgX = cute.zipped_divide(cute.local_tile(a, (8,), (t,)), (1,))
    tXgY = cute.zipped_divide(cute.local_tile(b, (8,), (t,)), (1,))
    cute.copy(atom, tXgX, tXgY, pred=t < 3)  # wrong"""),
    "nested_in_another_way": ("copy-shape", """
    values = cute.make_rmem_tensor(((4,), 2), a.element_type)
    total = values.load() * cute.local_tile(a, (4,), (t,)).load()  # wrong
    b[t] = total[0]"""),
    "reduced_value": ("raw-value", """
    total = cute.local_tile(a, (4,), (t,)).load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    b[t] = total.to(b.element_type)  # wrong"""),
    "copy_ranks_differ": ("copy-shape", """
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tXgX = cute.local_tile(a, (4,), (t,))
    cute.copy(atom, tXgX, cute.make_rmem_tensor((1, 4), a.element_type))  # wrong
    b[t] = a[t]"""),
}  # fmt: skip

# -- kernels with one statement -------------------------------------------------------------------
# Name -> kind of diagnosis, statement, kinds of the arguments unless they are the usual ones. A
# statement that ends in a colon is followed by `b[t] = a[t]`.
KERNEL_STATEMENTS = {
    "store_wider": ("store-dtype", "b[t] = a[t]", "f32", "f16"),
    "store_python_number": ("store-dtype", "b[t] = 1"),
    "store_int32": ("store-dtype", "b[t] = t"),
    "store_promoted": ("store-dtype", "b[t] = a[t] * 2.0", "f16", "f16"),
    "undefined": ("undefined-name", "b[t] = aa[t]"),
    "ternary_types": ("branch-type", "b[t] = a[t] if t > 3 else 0"),
    "load_rank": ("index-rank", "b[t] = a[t, 0]"),
    "store_rank": ("index-rank", "b[t, 0] = a[t]"),
    "slice_index": ("index-type", "b[t] = a[t : t + 4]"),
    "used_in_its_own_definition": ("undefined-name", "value = value + a[t]"),
    "tensor_as_index": ("index-type", "b[a] = 1.0"),
    "float_index": ("index-type", "b[a[t]] = 1.0"),
    "register_arguments_exchanged": ("api-arguments", "r = cute.make_rmem_tensor(Float32, 4)"),
    "shared_layout_first": (
        "api-arguments",
        "cutlass.memory.SmemAllocator().allocate_tensor(cute.make_layout(4), Float32, 16)",
    ),
    "shared_alignment_second": (
        "api-arguments",
        "cutlass.memory.SmemAllocator().allocate_tensor(Float32, 16, cute.make_layout(4))",
    ),
    "initial_value_first": (
        "api-arguments",
        "cute.local_tile(a, (4,), (t,)).load().reduce(0.0, cute.ReductionOp.ADD, 0)",
    ),
    "const_expr_of_a_type": ("const-expr", "dtype = cutlass.const_expr(a.element_type)"),
    "comprehension_unrolled": (
        "host-function",
        "b[t] = sum([a[i] for i in cutlass.range_constexpr(4)])",
    ),
    "atom_arguments_exchanged": (
        "api-arguments",
        "cute.make_copy_atom(Float32, cute.nvgpu.CopyUniversalOp())",
    ),
    "values_minus_a_tensor": (
        "tensor-arithmetic",
        "values = cute.local_tile(a, (4,), (t,)).load() - a",
    ),
    "method_of_a_number": ("unknown-api", "b[t] = a[t].reduce(1)"),
    "index_twice": ("not-subscriptable", "b[t] = a[t][0]", "f32x2d", "f32"),
    "math_exp": ("python-math", "b[t] = math.exp(a[t])"),
    "torch_exp": ("host-function", "b[t] = torch.exp(a[t])"),
    "numpy_exp": ("host-function", "b[t] = np.exp(a[t])"),
    "python_int": ("python-number", "b[t] = a[int(t)]"),
    "comprehension_over_runtime": ("python-loop", "b[t] = sum([a[i] for i in range(t)])"),
    "store_shapes_differ": (
        "copy-shape",
        "cute.local_tile(b, (8,), (t,)).store(cute.local_tile(a, (4,), (t,)).load())",
    ),
    "method_of_torch": ("torch-method", "b[t] = a.flip(0)[t]"),
    "argument_of_api_missing": ("api-arguments", "b[t] = cute.arch.warp_reduction(a[t])"),
    "bits_of_float": ("operand-types", "b[t] = a[t] & 1"),
    "printf_like_print": ("printf-format", 'cute.printf("thread", t, "ok")'),
    "store_of_int64": ("store-dtype", "b[t] = 3.0 * a[t] + 1.0", "i64", "f32"),
    "plain_python_mistake": ("unrecognised", "b[t] = a[t] + 1 // 0"),
    "thread_idx_two_values": ("unpack-three", "t, _ = cute.arch.thread_idx()"),
    "const_expr_of_runtime": ("const-expr", "if cutlass.const_expr(t > 3):"),
    "range_constexpr_of_runtime": ("range-constexpr", "for i in cutlass.range_constexpr(t):"),
    "assert_of_runtime": ("runtime-assert", "assert t < 4"),
    "comprehension_condition": ("runtime-bool", "kept = [i for i in range(4) if t > i]"),
    "tiler_of_higher_rank": ("layout-rank", "tiles = cute.zipped_divide(a, (4, 4))"),
    "strides_of_fewer_modes": ("layout-rank", "layout = cute.make_layout((4, 8), stride=(8,))"),
    "packed_on_hopper": (
        "arch-feature",
        "b[t] = cute.arch.add_packed_f32x2((a[t], a[t]), (a[t], a[t]))[0]",
    ),
    "renamed_fragment": ("renamed-api", "values = cute.make_fragment((4,), Float32)"),
    "renamed_mbarrier": ("renamed-api", "cute.arch.mbarrier_init_arrive_cnt(a.iterator, 1)"),
    "renamed_proxy": ("renamed-api", "cute.arch.fence_proxy(cute.arch.ProxyKind.async_shared)"),
    "renamed_thr_mma": ("renamed-api", "kept = cute.core.ThrMma"),
    "renamed_helpers": ("renamed-api", "cutlass.utils.ampere_helpers.SMEM_CAPACITY"),
    "misspelt": ("unknown-api", "cute.arch.sync_treads()"),
    "format_runtime": ("print-format", 'print(f"{t:3d}")'),
    "length_of_tensor": ("tensor-size", "if t < len(a):"),
    "size_of_tensor": ("tensor-size", "if t < a.size:"),
    "numel_of_tensor": ("tensor-size", "if t < a.numel():"),
    "compared_with_shape": ("tuple-compare", "if t < a.shape:"),
    "product_of_tuples": ("unpack-three", "i = cute.arch.block_dim() * cute.arch.block_idx() + t"),
    "whole_tensors": ("tensor-arithmetic", "b = 3.0 * a + 1.0"),
}
# Mistakes in host functions, in the same form.
LAUNCH = ".launch(grid=(1, 1, 1), block=(32, 1, 1))"
HOST_STATEMENTS = {
    "no_launch": ("no-launch", "copy_kernel(a, b)"),
    "kernel_argument_missing": ("missing-argument", "copy_kernel(a)" + LAUNCH),
    "kernel_argument_extra": ("extra-argument", "copy_kernel(a, b, b)" + LAUNCH),
    "grid_of_float": (
        "launch-shape",
        "copy_kernel(a, b).launch(grid=(4 / 2, 1, 1), block=(32, 1, 1))",
    ),
    "launch_with_threads": ("launch-shape", "copy_kernel(a, b).launch(blocks=2, threads=128)"),
    "plain_launched": ("missing-kernel", "undecorated_kernel(a, b)" + LAUNCH),
    "launches_torch_annotated": ("torch-annotation", "torch_annotated_kernel(a, b)" + LAUNCH),
}
STATEMENTS = KERNEL_BODIES | KERNEL_STATEMENTS | HOST_STATEMENTS
KERNEL = """
@cute.kernel
def {name}_kernel(a: cute.Tensor, b: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    {statements}

@cute.jit
def {name}(a: cute.Tensor, b: cute.Tensor):
    {name}_kernel(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""
HOST = """
@cute.jit
def {name}(a: cute.Tensor, b: cute.Tensor):
    {statements}
"""
STATEMENTS_FILE = str(Path(__file__).with_name("statements.py"))  # only linecache has its text


def compile_statements():
    source = ""
    for name, (_, statements, *_) in STATEMENTS.items():
        if "\n" not in statements:
            below = "\n        b[t] = a[t]" * statements.endswith(":")
            statements = f"{statements}  # wrong{below}"
        template = HOST if name in HOST_STATEMENTS else KERNEL
        source += template.format(name=name, statements=statements.strip())
    lines = source.splitlines(keepends=True)
    linecache.cache[STATEMENTS_FILE] = (len(source), None, lines, STATEMENTS_FILE)
    exec(compile(source, STATEMENTS_FILE, "exec"), globals())
    for name, (kind, _, *arguments) in STATEMENTS.items():
        CASES[name] = (globals()[name], arguments or TWO, kind)


compile_statements()


@cute.kernel
def copy_kernel(a: cute.Tensor, b: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b[t] = a[t]


@cute.jit
def copy(a: cute.Tensor, b: cute.Tensor):
    copy_kernel(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


def undecorated(a: cute.Tensor, b: cute.Tensor):
    copy_kernel(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def index_with_number(a: cute.Tensor, b: cute.Tensor, n: Int32):
    copy_kernel(a, b).launch(grid=(n, 1, 1), block=(32, 1, 1))


@cute.jit
def grid_of_math_ceil(a: cute.Tensor, b: cute.Tensor):
    grid = math.ceil(a.shape[0] / 32)  # wrong
    copy_kernel(a, b).launch(grid=(grid, 1, 1), block=(32, 1, 1))


def undecorated_kernel(a: cute.Tensor, b: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b[t] = a[t]


@cute.jit
def launches_plain_python_in_two_lines(a: cute.Tensor, b: cute.Tensor):
    prepared = undecorated_kernel(a, b)
    prepared.launch(grid=(1, 1, 1), block=(32, 1, 1))  # wrong


@cute.kernel
def torch_annotated_kernel(a: torch.Tensor, b: torch.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b[t] = a[t]


@cute.jit
def torch_annotated(a: torch.Tensor, b: torch.Tensor):
    copy_kernel(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))


CASES |= {
    "grid_of_math_ceil": (grid_of_math_ceil, TWO, "python-math"),
    "plain_launched_2": (launches_plain_python_in_two_lines, TWO, "missing-kernel"),
}

# Mistakes in the call: the diagnosis names the line that calls compile.
CALLS = {
    "argument_missing": (copy, ("f32",), "missing-argument"),
    "argument_extra": (copy, ("f32", "f32", "f32"), "extra-argument"),
    "kernel_compiled": (copy_kernel, TWO, "compile-kernel"),
    "undecorated": (undecorated, TWO, "missing-jit"),
    "torch_tensor_annotated": (copy, ("torch", "torch"), "torch-annotation"),
    "torch_annotated": (torch_annotated, TWO, "torch-annotation"),
    "list_for_tensor": (copy, ("f32", "list"), "annotation"),
    "list_for_number": (index_with_number, ("f32", "f32", "list"), "annotation"),
}


@cute.kernel
def prints(a: cute.Tensor, b: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cute.local_tile(a, (4,), (block,))
    print("layout", a.layout, tile.layout, a.element_type)
    print(cute.size(a, mode=[0]), 3)
    print(t)  # flagged
    value = a[t]
    print("value", value)  # flagged
    print(f"{value} and {block * 4}")  # flagged
    print(a[0])  # flagged
    print(type(value), a[None].layout)
    cute.printf("{}", t)
    t = 5
    print(t)
    b[t] = value


@cute.jit
def prints_host(a: cute.Tensor, b: cute.Tensor):
    print(a)
    prints(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1))
