"""The table of students' mistakes that CuTe DSL's compiler catches, and of names that went away.

A rule fits when `pattern` is found in `ExceptionClass: CODE: text` (white space collapsed) and,
where given, `line` in the student's source line and `source` in some line of their functions. Named
groups of all three fill the braces of `explanation`, `remedy` and `source`. The first rule that
fits wins, so special cases stand before general ones. Written against nvidia-cutlass-dsl 4.8.1;
tests/test_diagnosis.py compiles each mistake for real.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MLIR_TYPES", "RENAMED", "RULES", "Rule"]


@dataclass(frozen=True)
class Rule:
    """One mistake: how to recognise it, and what to tell the student.

    Attributes:
        kind: slug, also `CompileError.kind`.
        pattern, line, source: regular expressions, see the module's text.
        explanation, remedy: templates of one sentence or two.
        at: whether the mistake stands in the kernel or in the call that compiles it.
        find: where the compiler names no line, the first line of the functions with this pattern.
    """

    kind: str
    pattern: str
    explanation: str
    remedy: str
    line: str = ""
    source: str = ""
    at: Literal["kernel", "call"] = "kernel"
    find: str = ""


# What MLIR calls the types that a student knows by CuTe's names.
MLIR_TYPES = {
    "i1": "Boolean", "i8": "Int8", "i16": "Int16", "i32": "Int32", "i64": "Int64",
    "f16": "Float16", "bf16": "BFloat16", "f32": "Float32", "f64": "Float64",
}  # fmt: skip

# Names gone since the tutorials of 2025: last part of the old name -> what to write now.
RENAMED = {
    "make_fragment": "cute.make_rmem_tensor(shape, dtype)",
    "mbarrier_init_arrive_cnt": "cute.arch.mbarrier_init(mbar, count)",
    "mbarrier_init_tx_bytes": "cute.arch.mbarrier_arrive_and_expect_tx(mbar, bytes)",
    "ProxyKind": 'a string, as in cute.arch.fence_proxy("async.shared", space="cta")',
    "SharedSpace": 'a string, as in cute.arch.fence_proxy("async.shared", space="cta")',
    "ThrMma": "cute.ThrMma",
    "ThrCopy": "cute.ThrCopy",
    "ampere_helpers": "cutlass.memory.SmemAllocator and its neighbours, without the helper module",
    "Constexpr": "cutlass.Constexpr",
}

_PYTHON_PHASE = "A value that exists only while the kernel runs has no number at compile time, "

_TORCH_GIVEN = (
    r"ARG_ANNOTATION_MISMATCH.*\((?P<arg>\w+)\) to be <class '\S*?Tensor'>, but got "
    r"<class 'torch\S*Tensor'>"
)
# The tensor that a line stores to, where it has a name: `_derived` makes {target} of it, its type.
_STORED = r"^\s*(?:(?P<tensor>\w+)(?:\[.*\]\s*=|\.store\())?"
_STORE = r"[Tt]ype mismatch, store (?P<got>{got})(?: \(-> \w+\) to Tensor with element type| to) "

RULES: tuple[Rule, ...] = (
    Rule(
        "store-dtype",
        _STORE.format(got="Float64|Int64|f64|i64") + r"(?P<needed>Float32|f32)",
        "This stores a value of type {got} into a tensor of {needed}. The type comes from the "
        "tensor that was read: an element of an int64 tensor is Int64, and Float64 after "
        "arithmetic with a float; CuTe DSL never converts on a store.",
        "make the input with dtype=torch.float32 (torch.arange(n) alone gives int64), or convert "
        "the value: `value.to({target})`.",
        line=_STORED,
    ),
    Rule(
        "store-dtype",
        _STORE.format(got=r"\w+") + r"(?P<needed>Float32|f32)",
        "This stores a value of type {got} into a tensor of {needed}. CuTe DSL never converts on "
        "a store; a Python int counts as Int32, a Python float as Float32.",
        "write a number with a point, such as `3.0`; convert any other value: "
        "`value.to({target})`.",
        line=_STORED,
    ),
    Rule(
        "store-dtype",
        _STORE.format(got=r"\w+") + r"(?P<needed>\w+)",
        "This stores a value of type {got} into a tensor of {needed}. CuTe DSL never converts on "
        "a store; a Python int counts as Int32, a Python float as Float32, and fp16 times a "
        "Python number is Float32.",
        "convert explicitly: `value.to({target})`, or write a number as `cutlass.{needed}(1)` "
        "(this needs `import cutlass`).",
        line=_STORED,
    ),
    Rule(
        "list-in-loop",
        r"TYPE_UNSTABLE_JOIN: .(?P<var>\w+). has type .list<",
        "The Python list `{var}` changes its length in a loop or branch that is decided at run "
        "time; the compiler reads the body only once.",
        "keep the values in registers with cute.make_rmem_tensor(shape, dtype), or make the loop "
        "unroll with cutlass.range_constexpr(n) where n is known at compile time.",
    ),
    Rule(
        "assigned-in-branch",
        r"TYPE_UNSTABLE_JOIN: .(?P<var>\w+). has type .None. on one path and .(?P<new>\w+). on "
        r"another",
        "`{var}` is None before this loop or branch and {new} after it, and which one holds is "
        "decided only at run time.",
        "give `{var}` a first value of the right type before, such as `{var} = cutlass.{new}(0)`.",
    ),
    Rule(
        "type-changes",
        r"TYPE_UNSTABLE_JOIN: .(?P<var>\w+). has type .(?P<old>\w+). on one path and "
        r".(?P<new>\w+). on",
        "`{var}` is {old} before this loop or branch and {new} at its end. Which path is taken is"
        " decided at run time, so both must leave the same type; `acc = 0` makes an Int32, `acc ="
        " 0.0` a Float32.",
        "start with the type it ends with: `{var} = cutlass.{new}(0)`, or convert inside with "
        "`.to(cutlass.{old})`.",
    ),
    Rule(
        "branch-type",
        r"TYPE_CONDITIONAL_BRANCH_MISMATCH|CONTAINER_STRUCTURE_CHANGED|TYPE_UNSTABLE_JOIN",
        "The two ways through this branch, loop or conditional expression give values of "
        "different type or structure, and which one is taken is decided only at run time.",
        "make both sides the same type: `0.0` beside a Float32, the same layout on both sides.",
    ),
    Rule(
        "assigned-in-branch",
        r"NameError in .\w+.: name '(?P<var>\w+)' is not defined",
        "`{var}` gets its first value inside a loop or branch that is decided at run time, so "
        "outside of it the name does not exist, even when every branch assigns it.",
        "give `{var}` a value of the right type before the `if`, `for` or `while`: `{var} = "
        "cutlass.Float32(0)`.",
        source=r"^\s+(?:for )?{var}\s*(?::[^=]+)?(?:=[^=]|in\b)",
    ),
    Rule(
        "undefined-name",
        r"NameError(?: in .\w+.)?: name '(?P<var>cutlass|cute|torch|math)' is not defined",
        "The name `{var}` is not defined where it is used: it was never imported.",
        "add {import_line} to the first cell or the top of the file.",
    ),
    Rule(
        "undefined-name",
        r"NameError(?: in .\w+.)?: name '(?P<var>\w+)' is not defined",
        "The name `{var}` is not defined where it is used.",
        "check its spelling, and that the cell that defines it has run.",
    ),
    Rule(
        "early-exit",
        r"UNSUP_EARLY_EXIT: Early exit \((?P<what>\w+)\)",
        "`{what}` stands inside an `if`, `for` or `while` that is decided at run time; these run "
        "as a whole, so one cannot leave them in the middle.",
        "turn the condition round and put the rest of the work inside it (`if t < n: ...`), or "
        "let a flag switch off the remaining passes of the loop.",
    ),
    Rule(
        "unpack-three",
        r"expects coordinate to be weakly congruent to the layout, but got "
        r"'!cute\.coord<\"\(\?(?:,\?){5,}",
        "The index is a long tuple: Python repeats a tuple that is multiplied by a number, and "
        "thread_idx(), block_idx(), block_dim() and grid_dim() return tuples of three.",
        "unpack it first: `bidx, _, _ = cute.arch.block_idx()`.",
    ),
    Rule(
        "index-rank",
        r"expects coordinate to be weakly congruent to the layout, but got "
        r"'!cute\.coord<\"(?P<coord>[^\"]+)\">",
        "The index {coord} (a `?` is a value known at run time) has more modes than the tensor it"
        " is used on, or nests them otherwise.",
        "give one index for each mode of the tensor; cute.arch.thread_idx() and block_idx() "
        "return three values, so write `tidx, _, _ = cute.arch.thread_idx()`. "
        "print(tensor.layout) shows the modes.",
        find=r"^\s+\w+\[[^\]]*,[^\]]*\]\s*=",
    ),
    Rule(
        "python-math",
        r"PHASE_DYNAMIC_INDEX",
        _PYTHON_PHASE + "and math.ceil of Python's standard library needs one.",
        "divide and round up with `cute.ceil_div(mX.shape[0], 128)`.",
        line=r"(?<!cute\.)\bmath\.ceil\([^)]*/",
    ),
    Rule(
        "python-math",
        r"PHASE_DYNAMIC_INDEX",
        _PYTHON_PHASE + "and math.{func} of Python's standard library needs one.",
        "use cute.math.{func}, which becomes an instruction of the kernel.",
        line=r"(?<!cute\.)\bmath\.(?P<func>\w+)\(",
    ),
    Rule(
        "host-function",
        r"(?:(?P<func>\w+)\(\): )?argument '\w+' \(position \d+\) must be Tensor, not "
        r"(?P<type>\w+)",
        "A torch function works on torch tensors on the host; inside a kernel the value is one "
        "{type} of one thread, known only at run time.",
        "use cute.math (exp, exp2, log, sqrt, rsqrt, tanh, ...) inside kernels.",
    ),
    Rule(
        "host-function",
        r"loop of ufunc does not support argument \d+ of type (?P<type>\w+)",
        "A NumPy function works on arrays on the host; inside a kernel the value is one {type} of"
        " one thread, known only at run time.",
        "use cute.math (exp, exp2, log, sqrt, rsqrt, tanh, ...) inside kernels.",
    ),
    Rule(
        "python-number",
        r"PHASE_DYNAMIC_INDEX",
        _PYTHON_PHASE + "so Python's {func}() cannot make a number of it.",
        "convert with the DSL's types: `cutlass.Int32(x)`, `cutlass.Float32(x)` or `x.to(dtype)`.",
        line=r"(?<![\w.])(?P<func>int|float)\(",
    ),
    Rule(
        "python-loop",
        r"PHASE_DYNAMIC_INDEX",
        _PYTHON_PHASE + "so a list comprehension cannot run over it.",
        "write a plain `for` loop over range(n) that adds up into a variable.",
        line=r"[\[(].*\bfor\b.*\bin range\(",
    ),
    Rule(
        "list-index",
        r"PHASE_DYNAMIC_INDEX|KeyError: \w+\(\?\)|IndexError: only integers, slices",
        _PYTHON_PHASE + "so it cannot pick from a Python list, tuple, dict or NumPy array.",
        "put the values into a tensor: pass one in, or fill one made with "
        "cute.make_rmem_tensor(shape, dtype), and index that.",
    ),
    Rule(
        "runtime-assert",
        r"PHASE_REQUIRES_CONSTANT: .assert. requires",
        "`assert` runs at compile time, and this condition is decided only while the kernel runs.",
        "guard the work with `if`, or check the sizes on the host before the launch.",
    ),
    Rule(
        "const-expr",
        r"PHASE_REQUIRES_CONSTANT: .const_expr\(\). requires",
        "`cutlass.const_expr` promises that the condition is known at compile time, but it "
        "depends on a value known only while the kernel runs.",
        "drop const_expr and write a plain `if`; or make the value a constant, with a parameter "
        "annotated cutlass.Constexpr.",
    ),
    Rule(
        "runtime-bool",
        r"PHASE_DYNAMIC_TO_STATIC_BOOL|PHASE_REQUIRES_CONSTANT",
        _PYTHON_PHASE
        + "so Python cannot decide on it here (a comprehension's `if`, bool(), a helper function "
        "that is not rewritten).",
        "use a plain `if` statement in the body of a @cute.kernel or @cute.jit function.",
    ),
    Rule(
        "range-constexpr",
        r"ARG_NON_CONSTANT",
        "`cutlass.range_constexpr` unrolls its loop at compile time, and its bounds are known "
        "only while the kernel runs.",
        "use range(n) or cutlass.range(n); or make the bound a constant, with a parameter "
        "annotated cutlass.Constexpr or a static size of the tensor.",
    ),
    Rule(
        "missing-argument",
        r"CALL_MISSING_ARG: Required argument .(?P<arg>\w+). is missing in the call to "
        r".(?P<func>\w+).",
        "`{func}` has a parameter `{arg}`, and nothing was given for it.",
        "pass an argument for `{arg}`; compile() takes the function first and then one argument "
        "for each of its parameters.",
        at="call",
    ),
    Rule(
        "missing-argument",
        r"ARG_BIND_FAILED.*missing a required argument: '(?P<arg>\w+)'",
        "The kernel called on this line has a parameter `{arg}`, and nothing was given for it.",
        "pass an argument for `{arg}`.",
    ),
    Rule(
        "extra-argument",
        r"ARG_BIND_FAILED.*(?:too many positional|unexpected keyword) argument",
        "The kernel called on this line got an argument it has no parameter for.",
        "compare the call with the parameters of the kernel's `def`.",
    ),
    Rule(
        "extra-argument",
        r"Failed to bind arguments to function .(?P<func>\w+). with signature .\((?P<sig>.*?)\)..*"
        r"(?:too many positional|unexpected keyword) argument",
        "`{func}` got an argument it has no parameter for; its parameters are ({sig}).",
        "pass one argument for each parameter.",
        at="call",
    ),
    Rule(
        "compile-kernel",
        r"CALL_KERNEL_TARGET: .(?P<func>\w+).",
        "`{func}` is a @cute.kernel, the code of one thread; what is compiled is the host "
        "function that launches it.",
        "write a @cute.jit function with `{func}(...).launch(grid=..., block=...)` in it and "
        "compile that.",
        at="call",
    ),
    Rule(
        "missing-jit",
        r"CALL_MISSING_JIT_DECORATOR",
        "The function given to compile() is plain Python.",
        "put @cute.jit above its `def`.",
        at="call",
    ),
    Rule(
        "no-launch",
        r"LAUNCH_NEVER_ISSUED: Kernel .(?P<func>\w+).",
        "`{func}(...)` alone only prepares a launch; the kernel never runs.",
        "add `.launch(grid=(...), block=(...))` to the call.",
    ),
    Rule(
        "launch-outside-jit",
        r"LAUNCH_OUTSIDE_JIT: Kernel .(?P<func>\w+).",
        "`{func}` is launched from plain Python; a kernel is launched by a host function, which is "
        "compiled.",
        "put the launch into a @cute.jit function, then `run = fk.compile(that_function, x, y)` "
        "and `run(x, y)`.",
        at="call",
    ),
    Rule(
        "launch-shape",
        r"LaunchConfig\.__init__\(\) got an unexpected keyword argument '(?P<arg>\w+)'",
        "`.launch` has no parameter `{arg}`.",
        "write `.launch(grid=(blocks, 1, 1), block=(threads, 1, 1))`: grid= counts blocks, block= "
        "the threads of one block.",
    ),
    Rule(
        "launch-shape",
        r"LAUNCH_\w+: (?P<why>.+?)(?: error\[|$)",
        "The compiler cannot make a launch of this line: {why}",
        "give grid and block as three integers each, such as grid=(blocks, 1, 1), block=(threads,"
        " 1, 1); divide with // or cute.ceil_div, since / makes a float.",
    ),
    Rule(
        "torch-annotation",
        _TORCH_GIVEN,
        "The parameter `{arg}` is a `cute.Tensor`, and a torch tensor was given for it.",
        "compile first: `run = fk.compile({func}, {args})`, then `run({args})`.",
        line=r"(?:^|cute\.compile\(|= )(?P<func>\w+)(?:\(|, )(?P<args>\w+(?:, \w+)*)[,)]",
        at="call",
    ),
    Rule(
        "torch-annotation",
        _TORCH_GIVEN,
        "The parameter `{arg}` is a `cute.Tensor`, and a torch tensor was given for it.",
        "compile first: `run = fk.compile(scale, x, y)`, then `run(x, y)`; without forgekit, pass "
        "`cutlass.cute.runtime.from_dlpack(x)`.",
        at="call",
    ),
    Rule(
        "torch-annotation",
        r"ARG_ANNOTATION_MISMATCH.*\((?P<arg>\w+)\) to be <class 'torch\S*Tensor'>",
        "The parameter `{arg}` is annotated `torch.Tensor`, but CuTe DSL's functions see CuTe's "
        "tensors.",
        "annotate it with `cute.Tensor`, in the @cute.jit and in the @cute.kernel function.",
        at="call",
    ),
    Rule(
        "annotation",
        r"ARG_ANNOTATION_MISMATCH.*\((?P<arg>\w+)\) to be <class '(?:\w+\.)*(?P<needed>\w+)'>, "
        r"but got <class '(?:\w+\.)*(?P<got>\w+)'>",
        "The parameter `{arg}` is annotated {needed}, and a {got} was given for it.",
        "pass a value of the annotated type, or change the annotation.",
        at="call",
    ),
    Rule(
        "annotation",
        r"error: (?P<got>.+?) to (?P<needed>\w+) conversion is not supported",
        "A parameter is annotated as one {needed}, and {got} was given for it.",
        "pass a value of the annotated type, or change the annotation.",
        at="call",
    ),
    Rule(
        "copy-alignment",
        r"ptr alignment \((?P<got>\d+) bits\) does not meet requirement \((?P<needed>\d+) bits\)",
        "A copy of {needed} bits at once needs addresses that are multiples of {needed_bytes} "
        "bytes; the compiler may assume only {got_bytes} here.",
        "promise it: fk.spec(x, divisible={{1: n}}) with rows that are multiples of {needed_bytes} "
        "bytes (in plain CuTe DSL from_dlpack(x, assumed_align={needed_bytes}) and "
        "mark_compact_shape_dynamic(mode=..., divisibility=...)). If rows are not, copy with "
        "num_bits_per_copy of one element.",
        find=r"\bcute\.(?:copy|autovec_copy|basic_copy)\(",
    ),
    Rule(
        "copy-shape",
        r"op expects same size in rank (?P<rank>\d+) but got srcShape: (?P<src>\S+) and dstShape: "
        r"(?P<dst>[^\s']+)",
        "This copies a tensor of shape {src} to one of shape {dst}.",
        "make both shapes equal: partition source and destination with the same tiler and thread "
        "layout.",
        find=r"\bcute\.(?:copy|autovec_copy|basic_copy)\(",
    ),
    Rule(
        "copy-shape",
        r"lhs and rhs must have the same shape, but got (?P<dst>\(.*?\)) and "
        r"(?P<src>\(.*?\))(?:\s|$)",
        "This combines or stores values of shape {src} where the other side has shape {dst}.",
        "make both shapes equal: partition both tensors with the same tiler.",
    ),
    Rule(
        "copy-predicate",
        r"expects pred to have compatible shape with: (?P<needed>\S+) but got actual predShape: "
        r"(?P<got>\([^ ']*)",
        "cute.copy asks one predicate for each vector that it moves, so `pred` needs the shape "
        "{needed}, and this one has {got}; groups of modes may be written flat.",
        "make it with one element for each vector, whose coordinate is that of the vector's first "
        "element: mode 0.0 of the thread's piece walks within a vector and has no place in `pred`.",
        find=r"\bcute\.copy\(.*pred=",
    ),
    Rule(
        "copy-shape",
        r"Expected source and destination tensors to have the same rank, but got (?P<src>\d+) and "
        r"(?P<dst>\d+)",
        "This copies a tensor of {src} modes to one of {dst}.",
        "give both the thread's piece: registers come from cute.make_rmem_tensor_like(tXgX), of "
        "the partitioned tensor, and not of the tile or the matrix.",
    ),
    Rule(
        "dynamic-layout",
        r"[Ee]xpect(?:s|ed)(?: a)? static (?:shape|layout)|"
        r"dynamic layout is not supported|dynamic layout doesn't support (?P<what>\w+)",
        "Shared memory, registers and `.load()` need a shape known at compile time, and this one "
        "contains a value known only at run time.",
        "take the sizes from Python constants or from parameters annotated cutlass.Constexpr.",
    ),
    Rule(
        "index-type",
        r"Expected Coord, whose leaves are integers or None, but got (?P<got>.+)",
        "An index must be an integer; {got} is not (`?` is a float known at run time, "
        "`slice(...)` comes from `a:b`, which tensors do not take).",
        "convert with cutlass.Int32(x) or divide with //; take several elements with "
        "cute.local_tile(tensor, tiler, coord) or with None as the index of a mode.",
    ),
    Rule(
        "layout-rank",
        r"Expected rank\(target\) >= rank\(tiler\), but got rank\(target\)=(?P<target>\d+) and "
        r"rank\(tiler\)=(?P<tiler>\d+)",
        "This divides a tensor or layout of {target} modes by a tiler of {tiler}.",
        "give the tiler at most as many modes as the tensor has.",
    ),
    Rule(
        "layout-rank",
        r"shape and stride must be congruent",
        "The shape and the stride of this layout are not nested alike.",
        "give one stride for each mode of the shape: make_layout((4, 8), stride=(8, 1)).",
    ),
    Rule(
        "not-subscriptable",
        r"'(?P<type>\w+)' object is not subscriptable",
        "This indexes a single {type}, which is one number and no tensor.",
        "index the tensor once with all its modes: `a[i, j]`, not `a[i][j]`.",
    ),
    Rule(
        "unpack-three",
        r"(?:too many|not enough) values to unpack",
        "thread_idx(), block_idx(), block_dim() and grid_dim() always return three values.",
        "write `tidx, _, _ = cute.arch.thread_idx()`.",
        line=r"_(?:idx|dim)\(\)",
    ),
    Rule(
        "arch-feature",
        r"target architecture: (?P<arch>sm_\w+).*F32x2 intrinsics are not supported|F32x2 "
        r"intrinsics are not",
        "Packed f32x2 arithmetic exists from sm_100 (Blackwell) on, and this was compiled for an "
        "older GPU.",
        "use plain arithmetic on each element, or compile for arch sm_100a.",
        find=r"_packed_f32x2\(",
    ),
    Rule(
        "unsupported-arch",
        r"KeyError: 'sm_(?P<arch>\w+)'",
        "The compiler does not know the architecture sm_{arch}.",
        "use sm_80, sm_90a or sm_100a.",
        at="call",
    ),
    Rule(
        "renamed-api",
        r"AttributeError: module '(?P<module>cutlass[\w.]*)' has no attribute "
        r"'(?P<name>{renamed})'",
        "`{name}` is gone from `{module}`; tutorials of 2025 still use it.",
        "write {new_name}.",
    ),
    Rule(
        "missing-kernel",
        r"AttributeError: 'NoneType' object has no attribute 'launch'",
        "`{func}` is plain Python: calling it runs it at once, and there is nothing to launch.",
        "put @cute.kernel above `def {func}`.",
        line=r"(?P<func>\w+)\(.*\)\s*\.launch",
    ),
    Rule(
        "missing-kernel",
        r"AttributeError: 'NoneType' object has no attribute 'launch'",
        "The function launched here is plain Python: calling it runs it at once, and there is "
        "nothing to launch.",
        "put @cute.kernel above its `def`.",
    ),
    Rule(
        "tensor-size",
        r"AttributeError: '_?Tensor' object has no attribute '(?P<name>size|numel|len|length)'",
        "A CuTe tensor has no `{name}`.",
        "take the size of a mode from its shape: `{tensor}.shape[0]`; cute.size({tensor}) counts "
        "all elements.",
        line=r"(?P<tensor>\w+)\.(?:size|numel|len|length)\b",
    ),
    Rule(
        "tensor-size",
        r"object of type '_?Tensor' has no len\(\)",
        "A CuTe tensor has no len().",
        "take the size of a mode from its shape: `{tensor}.shape[0]`.",
        line=r"\blen\((?P<tensor>\w+)\)",
    ),
    Rule(
        "tuple-compare",
        r"'[<>=]+' not supported between instances of (?:'\w+' and 'tuple'|'tuple' and '\w+')",
        "`{tensor}.shape` is a tuple with one size for each mode, and no number.",
        "compare with one size: `{tensor}.shape[0]`.",
        line=r"(?P<tensor>\w+)\.shape(?!\[)",
    ),
    Rule(
        "unpack-three",
        r"not supported between instances of (?:'\w+' and 'tuple'|'tuple' and '\w+')"
        r"|can't multiply sequence by non-int|can only concatenate tuple"
        r"|unsupported operand type\(s\) for \S+: (?:'tuple'|'\w+' and 'tuple')",
        "One side of this is a tuple and no number: thread_idx(), block_idx(), block_dim() and "
        "grid_dim() return three values, and a shape has one for each mode.",
        "unpack it first: `bidx, _, _ = cute.arch.block_idx()`; of a shape take `mX.shape[0]`.",
    ),
    Rule(
        "torch-method",
        r"AttributeError: '_?Tensor' object has no attribute '(?P<name>T|abs|argmax|clone"
        r"|contiguous|copy_|cos|dim|exp|expand|flatten|flip|item|log|max|mean|min|mul|numel|numpy|permute|pow"
        r"|repeat|reshape|roll|sin|size|sort|split|sqrt|squeeze|std|sum|t|tolist|transpose"
        r"|unsqueeze|view)'",
        "`{name}` belongs to torch's tensors, and a CuTe tensor has no such methods: in a kernel a "
        "thread moves single elements.",
        "index single elements, as in `mY[i] = 0.5 * mX[i]`, and let the indices do the work; the "
        "size of a mode is `mX.shape[0]`.",
    ),
    Rule(
        "unknown-api",
        r"AttributeError: (?:module|type object|')\s?'?(?P<module>[\w.]+)'(?: object)? has no "
        r"attribute "
        r"'(?P<name>\w+)'",
        "There is no `{name}` in `{module}`.",
        "check the spelling{did_you_mean}",
    ),
    Rule(
        "no-source",
        r"UNSUP_NO_SOURCE: The source of .(?P<func>\w+).",
        "CuTe DSL reads the source text of a kernel, and `{func}` has none: it was made with "
        "exec(), or typed at a prompt without history.",
        "define it in a notebook cell or in a .py file.",
        at="call",
    ),
    Rule(
        "outside-jit",
        r"CALL_OUTSIDE_JIT: .(?P<func>\w+).",
        "`{func}` works only while a @cute.jit or @cute.kernel function is being compiled.",
        "move the call into such a function.",
    ),
    Rule(
        "print-format",
        r"unsupported format string passed to (?P<type>\w+)\.__format__",
        _PYTHON_PHASE + "so Python cannot format it.",
        'print from the kernel with cute.printf("{{}}", value).',
    ),
    Rule(
        "printf-format",
        r"unsupported argument type in printf",
        "cute.printf takes one format string first, and then only numbers of the kernel.",
        'put all text into the format string: `cute.printf("thread {{}} ok", tidx)`.',
    ),
    Rule(
        "tensor-arithmetic",
        r"unsupported operand type\(s\) for \S+: (?:'_?Tensor'|'\w+' and '_?Tensor')"
        r"|Expected other to be Numeric or TensorSSA after canonicalization, but got .*Tensor'",
        "Arithmetic takes numbers, and `{piece}` is a tensor: a place for a thread's values.",
        "take its values out with `{piece}.load()`, compute with them as with one number, and put "
        "the result back with `.store(values.to(….element_type))` into a tensor of that shape.",
        line=r"\b(?P<piece>t\w*[rgs][A-Z]\w*|r[A-Z]\w*)\b(?!\.load|\.store|\[|\()",
    ),
    Rule(
        "tensor-arithmetic",
        r"unsupported operand type\(s\) for (?P<op>\S+): (?:'_?Tensor'|'\w+' and '_?Tensor')",
        "`{op}` works on numbers, and this is a whole tensor; a thread computes single elements.",
        "index one element of each tensor, as in `mY[i] = 0.5 * mX[i]`.",
    ),
    Rule(
        "operand-types",
        r"unsupported operand type\(s\) for (?P<op>\S+): '(?P<left>\w+)' and '(?P<right>\w+)'",
        "`{op}` is not defined between {left} and {right}.",
        "convert one side first: cutlass.Int32(x) for bit operations, cutlass.Float32(x) for "
        "arithmetic.",
    ),
    Rule(
        "api-arguments",
        r"TypeError: (?P<func>\w+)\(\) (?P<why>missing|takes|got an unexpected)",
        "`{func}()` is called with other arguments than it takes.",
        "look up its parameters with help() or `?` in a cell.",
    ),
)
