"""Each mistake of mistakes/kernels.py is really compiled, and gets its diagnosis and its line."""

import importlib.util
import linecache
import re
from pathlib import Path

import pytest
import torch

pytest.importorskip("cutlass")

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

from forgekit.diagnosing.diagnosis import explain_compile_error
from forgekit.diagnosing.lint import find_prints
from forgekit.diagnosing.rules import RENAMED, RULES
from forgekit.diagnosing.sources import reached_functions, unwrap
from forgekit.errors import CompileError

KERNELS = Path(__file__).parent / "mistakes" / "kernels.py"


def load_kernels():
    spec = importlib.util.spec_from_file_location("mistaken_kernels", KERNELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kernels = load_kernels()


def argument(kind):
    if kind == "torch":
        return torch.zeros(32)
    if kind == "list":
        return [1, 2]
    if kind == "f32x2d":
        shape = (cute.sym_int(), cute.sym_int())
        return make_fake_compact_tensor(cutlass.Float32, shape, stride_order=(1, 0))
    dtype = {"f32": cutlass.Float32, "f16": cutlass.Float16, "i64": cutlass.Int64}[kind]
    return make_fake_compact_tensor(dtype, (cute.sym_int(),))


def diagnose(fn, kinds, options=""):
    """The CompileError for a compilation that must fail."""
    arguments = [argument(kind) for kind in kinds]
    try:
        cute.compile(fn, *arguments, options="--gpu-arch sm_90a" + options)  # the call
    except Exception as exc:
        return explain_compile_error(exc, fn)
    pytest.fail("CuTe DSL compiled this without complaint")


@pytest.mark.parametrize("line_info", ["", " --generate-line-info"], ids=["plain", "lineinfo"])
@pytest.mark.parametrize("name", kernels.CASES)
def test_mistake_in_kernel(name, line_info):
    fn, kinds, kind = kernels.CASES[name]
    error = diagnose(fn, kinds, line_info)
    assert isinstance(error, CompileError)
    assert error.kind == kind
    assert error.filename == str(KERNELS)
    assert "# wrong" in error.source_line
    assert error.source_line == linecache.getline(str(KERNELS), error.line).strip()
    message = str(error)
    assert f"kernels.py, line {error.line}: {error.source_line}" in message
    assert ("Remedy: " in message) == (kind != "unrecognised")
    assert "The compiler's own words:" in message
    for trace in ("\x1b", "site-packages", str(KERNELS.parent), "Traceback", "0x7"):
        assert trace not in message
    assert not re.search(r"\{\w+\}", message), "a field of the template was not filled in"


@pytest.mark.parametrize("name", kernels.CALLS)
def test_mistake_in_call(name):
    fn, kinds, kind = kernels.CALLS[name]
    error = diagnose(fn, kinds)
    assert error.kind == kind
    assert error.filename == __file__
    assert error.source_line.endswith("# the call")


def test_call_made_through_forgekit_points_at_the_users_line():
    """There the traceback starts inside forgekit; the live stack has the line."""
    scope = {"__name__": "forgekit.fake", "cute": cute, "explain": explain_compile_error}
    inside = str(Path(explain_compile_error.__code__.co_filename).with_name("fake.py"))
    body = """
def compile_(fn, *arguments):
    try:
        cute.compile(fn, *arguments)
    except Exception as exc:
        return explain(exc, fn)
"""
    exec(compile(body, inside, "exec"), scope)
    for name in ("argument_missing", "argument_extra", "kernel_compiled"):
        fn, kinds, kind = kernels.CALLS[name]
        error = scope["compile_"](fn, *map(argument, kinds))  # through forgekit
        assert (error.kind, error.filename) == (kind, __file__)
        assert error.source_line.endswith("# through forgekit")


def test_texts_name_the_students_things():
    text = str(diagnose(*kernels.CASES["loop_changes_type"][:2]))
    assert "`total` is Int32 before" in text and "total = cutlass.Float32(0)" in text
    text = str(diagnose(*kernels.CASES["store_int32"][:2]))
    assert "type Int32 into a tensor of Float32" in text and "value.to(b.element_type)" in text
    assert "cute.math.exp" in str(diagnose(*kernels.CASES["math_exp"][:2]))
    assert "multiples of 16 bytes" in str(diagnose(*kernels.CASES["copy_without_alignment"][:2]))
    assert "cute.make_rmem_tensor(shape" in str(diagnose(*kernels.CASES["renamed_fragment"][:2]))
    assert "did you mean `sync_threads`?" in str(diagnose(*kernels.CASES["misspelt"][:2]))
    text = str(diagnose(*kernels.CASES["method_of_torch"][:2]))
    assert "`flip` belongs to torch's tensors" in text and "spelling" not in text
    text = str(diagnose(*kernels.CASES["whole_tensors"][:2]))
    assert "`mY[i] = 0.5 * mX[i]`" in text  # and not the student's own line, completed
    assert "(?,0)" in str(diagnose(*kernels.CASES["load_rank"][:2]))
    assert "`return` stands inside" in str(diagnose(*kernels.CASES["early_return"][:2]))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("store_python_number", "write a number with a point, such as `3.0`"),
        ("store_of_int64", "dtype=torch.float32"),
        ("length_of_tensor", "`a.shape[0]`"),
        ("size_of_tensor", "`a.shape[0]`"),
        ("numel_of_tensor", "`a.shape[0]`"),
        ("compared_with_shape", "`a.shape[0]`"),
        ("product_of_tuples", "`bidx, _, _ = cute.arch.block_idx()`"),
        ("repeated_tuple", "`bidx, _, _ = cute.arch.block_idx()`"),
        ("printf_like_print", '`cute.printf("thread {} ok", tidx)`'),
        ("whole_tensors", "mX[i]"),
        ("launch_with_threads", "grid=(blocks, 1, 1), block=(threads, 1, 1)"),
        ("grid_of_math_ceil", "`cute.ceil_div("),
        ("plain_launched", "put @cute.kernel above `def undecorated_kernel`"),
        ("plain_launched_2", "put @cute.kernel above its `def`"),
        ("torch_annotated_kernel", "annotate it with `cute.Tensor`"),
    ],
)
def test_remedies_name_what_to_write(name, remedy):
    message = str(diagnose(*kernels.CASES[name][:2]))
    assert remedy in " ".join(message.partition("Remedy: ")[2].split())
    assert "suggestion:" not in message  # where forgekit has a remedy, there is only one
    assert len(message) < 1500


def test_a_direct_call_is_told_to_compile_first():
    x, y = torch.zeros(32), torch.zeros(32)
    for call in (
        lambda: kernels.copy(x, y),
        lambda: cute.compile(kernels.copy, x, y),
    ):
        with pytest.raises(Exception) as caught:
            call()
        assert explain_compile_error(caught.value).kind == "torch-annotation"
    copy = kernels.copy
    with pytest.raises(Exception) as caught:
        copy(x, y)
    message = " ".join(str(explain_compile_error(caught.value)).split())
    assert "compile first: `run = fk.compile(copy, x, y)`, then `run(x, y)`." in message
    with pytest.raises(Exception) as caught:
        kernels.copy_kernel(x, y).launch(grid=(1, 1, 1), block=(32, 1, 1))
    error = explain_compile_error(caught.value)
    assert error.kind == "launch-outside-jit" and "@cute.jit function" in str(error)


def test_a_name_never_imported():
    source = CELL.replace("a[t, 0] = 1.0", "a[t] = cutlass.Float32(1)").replace("print(t)", "")
    name = "/tmp/ipykernel_4711/99.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"cute": cute, "__name__": "__main__"}
    exec(compile(source, name, "exec"), scope)
    error = diagnose(scope["host"], ("f32",))
    assert error.kind == "undefined-name" and "add `import cutlass` to" in str(error)


def test_the_compilers_suggestions_stay_where_forgekit_has_none():
    class DSLUserCodeError(Exception):
        pass

    DSLUserCodeError.__module__ = "cutlass.made.up"
    text = "error[NEW]: odd\n  suggestion: do this\n              and that\n  note: kept"
    assert explain_compile_error(DSLUserCodeError(text)).compiler_text == text
    known = text.replace("[NEW]: odd", "[ARG_NON_CONSTANT]: odd")
    told = explain_compile_error(DSLUserCodeError(known)).compiler_text
    assert told == "error[ARG_NON_CONSTANT]: odd\n  note: kept"


def test_text_is_equal_from_compile_to_compile():
    for name in ("copy_without_alignment", "numpy_exp"):
        fn, kinds, _ = kernels.CASES[name]
        assert str(diagnose(fn, kinds)) == str(diagnose(fn, kinds))


def test_source_of_exec_is_missing():
    scope = {"cute": cute, "__name__": "__main__"}
    exec("@cute.jit\ndef host(a: cute.Tensor):\n    pass\n", scope)
    error = diagnose(scope["host"], ("f32",))
    assert error.kind == "no-source"
    assert error.source_line.endswith("# the call")


CELL = """
@cute.kernel
def kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t, 0] = 1.0
    print(t)

@cute.jit
def host(a: cute.Tensor):
    kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""


@pytest.mark.parametrize("line_info", ["", " --generate-line-info"], ids=["plain", "lineinfo"])
def test_notebook_cell_is_called_cell(line_info):
    name = "/tmp/ipykernel_4711/123456789.py"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    scope = {"cute": cute, "__name__": "__main__"}
    exec(compile(CELL, name, "exec"), scope)
    error = diagnose(scope["host"], ("f32",), line_info)
    assert error.kind == "index-rank"
    assert (error.filename, error.line, error.source_line) == (name, 5, "a[t, 0] = 1.0")
    assert "cell, line 5: a[t, 0] = 1.0" in str(error)
    assert "4711" not in str(error) and "123456789" not in str(error)
    assert printed(scope["host"]) == ["cell, line 6: print(t)"]


def test_anything_else_still_says_what_happened():
    error = explain_compile_error(RuntimeError("\x1b[91modd\x1b[0m thing at 0x7f00deadbeef"))
    assert error.kind == "unrecognised"
    assert error.compiler_text == "RuntimeError: odd thing at 0x..."


def test_unsupported_architecture():
    with pytest.raises(KeyError) as caught:
        arguments = [argument(kind) for kind in kernels.TWO]
        cute.compile(kernels.copy, *arguments, options="--gpu-arch sm_75")
    error = explain_compile_error(caught.value, kernels.copy)
    assert error.kind == "unsupported-arch" and "sm_75" in str(error)


def test_every_rule_is_reached_by_a_real_mistake():
    """A rule that no test reaches may have gone stale with a new version of the compiler."""
    reached = {kind for _, _, kind in (*kernels.CASES.values(), *kernels.CALLS.values())}
    elsewhere = {"no-source", "unsupported-arch", "outside-jit", "launch-outside-jit"}
    assert {rule.kind for rule in RULES} == (reached | elsewhere) - {"unrecognised"}


def test_renamed_names_are_really_gone():
    modules = (cute, cute.arch, cute.core, cutlass.utils)
    for name in RENAMED:
        gone_from = [m for m in modules if not hasattr(m, name)]
        assert gone_from, f"{name} is back in every module: drop it from RENAMED"


def test_outside_jit():
    with pytest.raises(Exception) as caught, pytest.warns(RuntimeWarning):
        cute.make_layout(3)
    assert explain_compile_error(caught.value).kind == "outside-jit"


def printed(fn):
    """The lines that the warnings name."""
    return [warning.partition("\n")[0] for warning in find_prints(fn)]


def test_prints_of_runtime_values_are_found():
    flagged = [
        f"kernels.py, line {number}: {line.strip()}"
        for number, line in enumerate(KERNELS.read_text().splitlines(), start=1)
        if line.endswith("# flagged")
    ]
    assert len(flagged) == 4
    assert printed(kernels.prints) == flagged
    assert printed(kernels.prints_host) == flagged  # reached through the host
    assert find_prints(kernels.copy) == find_prints(None) == []
    assert "cute.printf" in find_prints(kernels.prints)[0]


def test_prints_are_found_after_compiling_too():
    """Compiling replaces the code of a function; its source must still be found."""
    before = find_prints(kernels.prints_host)
    cute.compile(kernels.prints_host, *map(argument, kernels.TWO), options="--gpu-arch sm_90a")
    assert find_prints(kernels.prints_host) == before != []


class Operator:
    @cute.kernel
    def kernel(self, a: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        print(t)

    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize("fn", [Operator(), Operator().__call__], ids=["object", "method"])
def test_functions_of_an_operator_object_are_reached(fn):
    names = [source.function.__name__ for source in reached_functions(fn)]
    assert names == ["__call__", "kernel"]
    assert [line.rpartition(": ")[2] for line in printed(fn)] == ["print(t)"]


def test_unwrap():
    assert unwrap(kernels.copy).__code__.co_filename == str(KERNELS)
    assert unwrap(len) is None
    assert unwrap(None) is None


double = lambda v: v + v  # noqa: E731


def uses_a_lambda(x):
    return double(x)


def test_a_lambda_reached_by_name_prints_nothing():
    assert find_prints(uses_a_lambda) == []


def test_the_remedy_for_a_stored_type_names_the_tensor_that_is_stored_to():
    for name, target in (("store_wider", "b"), ("store_vector", "target")):
        fn, kinds, _ = kernels.CASES[name]
        assert f"`value.to({target}.element_type)`" in str(diagnose(fn, kinds))
