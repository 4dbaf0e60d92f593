"""Test that compiling each mistake in mistakes/kernels.py yields its diagnosis and its line."""

import functools
import linecache
import re
from pathlib import Path
from unittest import mock

import pytest
import torch

pytest.importorskip("cutlass")

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

from forgekit.compiling import backends
from forgekit.diagnosing import diagnosis
from forgekit.diagnosing.diagnosis import explain_compile_error
from forgekit.diagnosing.lint import find_prints
from forgekit.diagnosing.rules import RENAMED, RULES, Rule, recognise
from forgekit.diagnosing.sources import reached_functions, unwrap
from forgekit.errors import CompileError
from tests.diagnosing.mistakes import kernels

KERNELS = Path(kernels.__file__)
line_info = pytest.mark.parametrize(
    "line_info", ["", " --generate-line-info"], ids=["plain", "lineinfo"]
)
MISTAKES = {**kernels.CASES, **kernels.CALLS}


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


def compiled(fn, kinds=("f32",), options="--gpu-arch sm_90a"):
    return cute.compile(fn, *map(argument, kinds), options=options)  # the call


def explained(call, fn=None) -> tuple[CompileError, Rule]:
    """Return the CompileError for a call that must fail, and the recognised rule."""
    found = []

    def spy(*given):
        found.append(recognise(*given))
        return found[0]

    try:
        call()
    except (Exception, backends.EndlessTraceError) as exc:
        with mock.patch.object(diagnosis, "recognise", spy):
            return explain_compile_error(exc, fn), found[0][0]
    pytest.fail("CuTe DSL compiled this without complaint")


@functools.cache
def diagnosed(name, line_info="") -> tuple[CompileError, Rule]:
    """Return the CompileError and the rule for a mistake in mistakes/kernels.py."""
    fn, kinds, _ = MISTAKES[name]
    return explained(lambda: compiled(fn, kinds, "--gpu-arch sm_90a" + line_info), fn)


@line_info
@pytest.mark.parametrize("name", kernels.CASES)
def test_mistake_in_kernel(name, line_info):
    kind = kernels.CASES[name][2]
    error, _ = diagnosed(name, line_info)
    assert isinstance(error, CompileError)
    assert error.kind == kind
    here = name == "rank_in_helper" or name not in kernels.STATEMENTS
    assert error.filename == (str(KERNELS) if here else kernels.STATEMENTS_FILE)
    assert "# wrong" in error.source_line
    assert error.source_line == linecache.getline(error.filename, error.line).strip()
    message = str(error)
    assert f"{Path(error.filename).name}, line {error.line}: {error.source_line}" in message
    assert ("Remedy: " in message) == (kind != "unrecognised")
    assert "The compiler's own words:" in message
    for trace in ("\x1b", "site-packages", str(KERNELS.parent), "Traceback", "0x7"):
        assert trace not in message
    assert not re.search(r"\{\w+\}", message), "a field of the template was not filled in"


@pytest.mark.parametrize("name", kernels.CALLS)
def test_mistake_in_call(name):
    error, _ = diagnosed(name)
    assert (error.kind, error.filename) == (kernels.CALLS[name][2], __file__)
    assert error.source_line.endswith("# the call")


def test_call_made_through_forgekit_points_at_the_users_line():
    """In such a call, the traceback starts inside forgekit, but the live stack contains the user's
    line."""
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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop_changes_type", "`total` is Int32 before"),
        ("loop_changes_type", "total = cutlass.Float32(0)"),
        ("store_int32", "type Int32 into a tensor of Float32"),
        ("math_exp", "cute.math.exp"),
        ("copy_without_alignment", "multiples of 16 bytes"),
        ("renamed_fragment", "cute.make_rmem_tensor(shape"),
        ("misspelt", "did you mean `sync_threads`?"),
        ("method_of_torch", "`flip` is a method of torch tensors"),
        ("whole_tensors", "`mY[i] = 0.5 * mX[i]`"),  # not the student's own line, completed
        ("load_rank", "(?,0)"),
        ("early_return", "`return` is inside"),
        ("store_python_number", "write numbers with a decimal point, such as `3.0`"),
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
        ("launches_torch_annotated", "annotate it with `cute.Tensor`"),
        ("store_int32", "`value.to(b.element_type)`"),
        ("store_wider", "`value.to(b.element_type)`"),
        ("store_vector", "`value.to(target.element_type)`"),
    ],
)
def test_the_message_names_what_is_wrong_and_what_to_write(name, words):
    message = " ".join(str(diagnosed(name)[0]).split())
    assert words in message.partition("The compiler's own words:")[0]
    assert "suggestion:" not in message  # if forgekit has a remedy, it is the only one
    assert ("spelling" in message) == (name == "misspelt")
    assert len(message) < 1500


# -- mistakes without separate kernels -------------------------------------------------------
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
CELL_FILE = "/tmp/ipykernel_4711/123456789.py"


def from_cell(source):
    """Return the function `host` of a notebook's cell."""
    linecache.cache[CELL_FILE] = (len(source), None, source.splitlines(True), CELL_FILE)
    scope = {"cute": cute, "__name__": "__main__"}
    exec(compile(source, CELL_FILE, "exec"), scope)
    return scope["host"]


def never_imported():
    source = CELL.replace("a[t, 0] = 1.0", "a[t] = cutlass.Float32(1)").replace("print(t)", "")
    compiled(from_cell(source))


def of_exec():
    scope = {"cute": cute, "__name__": "__main__"}
    exec("@cute.jit\ndef host(a: cute.Tensor):\n    pass\n", scope)
    compiled(scope["host"])


def called_with_torch():
    copy = kernels.copy
    x, y = torch.zeros(32), torch.zeros(32)
    copy(x, y)


def launched_outside():
    kernels.copy_kernel(torch.zeros(32), torch.zeros(32)).launch(grid=(1, 1, 1), block=(32, 1, 1))


def barrier_on_host():
    backends._check_before_passes()  # without it, this process would end here
    source = CELL.replace("a[t, 0] = 1.0", "a[t] = 1.0").replace("print(t)", "")
    between = "    cute.arch.sync_threads()\n    kernel(a).launch"
    host = from_cell(source.replace("    kernel(a).launch", between))
    compiled(host, options="--gpu-arch sm_90a --generate-line-info")  # as fk.compile does


def endless():
    between = "    for _ in iter(int, 1): cute.arch.sync_threads()\n    kernel(a).launch"
    with mock.patch.object(backends, "_TRACE_S", 0.5), backends._tracing():
        compiled(from_cell(CELL.replace("    kernel(a).launch", between)))


ELSEWHERE = [  # the code that raises the error, the kind, words from the message
    (never_imported, "undefined-name", "add `import cutlass` to"),
    (of_exec, "no-source", "# the call"),
    (called_with_torch, "torch-annotation",
     "compile first: `run = fk.compile(copy, x, y)`, then `run(x, y)`."),
    (launched_outside, "launch-outside-jit", "@cute.jit function"),
    (lambda: compiled(kernels.copy, kernels.TWO, "--gpu-arch sm_75"), "unsupported-arch", "sm_75"),
    (barrier_on_host, "device-code-on-host", ": cute.arch.sync_threads() Remedy: move"),
    (endless, "endless-trace", "cute.arch.sync_threads() Remedy: change"),
    (lambda: cute.make_layout(3), "outside-jit", "make_layout"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("call", "kind", "words"), ELSEWHERE, ids=[row[1] for row in ELSEWHERE])
def test_mistakes_elsewhere(call, kind, words):
    error, _ = explained(call)
    assert error.kind == kind
    assert words in " ".join(str(error).split())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_rule_is_reached_by_a_real_mistake():
    """If no test reaches a rule, a new version of the compiler may have made it obsolete."""
    reached = [diagnosed(name)[1] for name in MISTAKES]
    reached += [explained(call)[1] for call, _, _ in ELSEWHERE]
    assert [rule for rule in RULES if rule not in reached] == []


@line_info
def test_notebook_cell_is_called_cell(line_info):
    host = from_cell(CELL)
    error, _ = explained(lambda: compiled(host, options="--gpu-arch sm_90a" + line_info), host)
    assert error.kind == "index-rank"
    assert (error.filename, error.line, error.source_line) == (CELL_FILE, 5, "a[t, 0] = 1.0")
    assert "cell, line 5: a[t, 0] = 1.0" in str(error)
    assert "4711" not in str(error) and "123456789" not in str(error)
    assert printed(host) == ["cell, line 6: print(t)"]


def test_the_compilers_suggestions_stay_where_forgekit_has_none():
    class DSLUserCodeError(Exception):
        pass

    DSLUserCodeError.__module__ = "cutlass.made.up"
    text = "error[NEW]: odd\n  suggestion: do this\n              and that\n  note: kept"
    assert explain_compile_error(DSLUserCodeError(text)).compiler_text == text
    known = text.replace("[NEW]: odd", "[ARG_NON_CONSTANT]: odd")
    kept = explain_compile_error(DSLUserCodeError(known)).compiler_text
    assert kept == "error[ARG_NON_CONSTANT]: odd\n  note: kept"


@pytest.mark.parametrize("name", ["copy_without_alignment", "numpy_exp"])
def test_text_is_equal_from_compile_to_compile(name):
    again, _ = diagnosed.__wrapped__(name)
    assert str(again) == str(diagnosed(name)[0])


def test_anything_else_still_says_what_happened():
    error = explain_compile_error(RuntimeError("\x1b[91modd\x1b[0m thing at 0x7f00deadbeef"))
    assert error.kind == "unrecognised"
    assert error.compiler_text == "RuntimeError: odd thing at 0x..."


def test_renamed_names_are_really_gone():
    modules = (cute, cute.arch, cute.core, cutlass.utils)
    for name in RENAMED:
        gone_from = [m for m in modules if not hasattr(m, name)]
        assert gone_from, f"{name} is back in every module: drop it from RENAMED"


# -- run-time values printed at compile time ---------------------------------------------------
def printed(fn):
    """Return the lines that the warnings name."""
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
    """Compiling replaces a function's code, but its source must still be found."""
    before = find_prints(kernels.prints_host)
    compiled(kernels.prints_host, kernels.TWO)
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
