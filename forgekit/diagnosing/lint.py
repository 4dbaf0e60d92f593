"""Find certain mistakes in the source of a student's CuTe DSL functions that the compiler accepts.

The checks do not report code that might be right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forgekit.diagnosing.sources import FunctionSource, reached_functions
from forgekit.errors import SourceLine
from forgekit.text import plural

# Calls whose results differ between threads, so they are never known at compile time.
_THREAD_INDICES = {"thread_idx", "block_idx", "lane_idx", "warp_idx"}
# Attributes of a tensor that may be static, and calls that do not need a value's run-time content.
_STATIC = {"layout", "shape", "stride", "element_type", "dtype", "memspace", "iterator", "type"}
_STATIC_CALLS = {"type", "len", "isinstance"}
_CLUSTER_CALLS = {"cluster_arrive", "cluster_arrive_relaxed", "cluster_wait", "map_dsmem_ptr",
                  "store_async_dsmem"}  # fmt: skip
# Attributes of a register tensor whose use does not store to it.
_READ = {"load", "layout", "shape", "stride", "element_type", "dtype", "type"}


def find_mistakes(fn: object) -> list[str]:
    """Return the mistakes in `fn` and in the functions that it reaches, each with its line. The
    mistakes are tuples compared with `<`, register tensors that are read but never written,
    indices beyond a register tensor, and calls that need a cluster if no launch passes `cluster=`.

    Every call is assumed to write to its tensor arguments, except a source or a predicate.
    """
    sources = list(reached_functions(fn))
    launches = [n for s in sources for n in ast.walk(s.tree)
                if isinstance(n, ast.Call) and _name_of(n.func) == "launch"]  # fmt: skip
    alone = launches and not any(k.arg in (None, "cluster") for n in launches for k in n.keywords)
    return [
        f"{source.line(node).where}: {says}"
        for source in sources
        for node, says in (
            *_tuples_compared(source.tree), *_never_filled(source.tree),
            *_beyond_registers(source.tree),
            *(_of_a_cluster(source.tree) if alone else ()),
        )
    ]  # fmt: skip


def find_prints(fn: object) -> list[str]:
    """Return a warning for each line on which `fn`, or a function that it reaches, prints a
    run-time value with `print`, which runs at compile time and shows `?`.

    Run-time values come from thread_idx, block_idx, lane_idx or warp_idx, or from elements of
    parameters annotated as tensors.
    """
    return [
        f"{line}\n"
        "print() runs once, at compile time, when this value is unknown and shows as `?`; "
        'use cute.printf("{}", value) to print from the kernel while it runs.'
        for source in reached_functions(fn)
        for line in _prints_in(source)
    ]


# -- compared tuples, unwritten registers ---------------------------------------------------------
def _tuples_compared(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    annotated = [a for a in ast.walk(tree) if isinstance(a, ast.arg) and a.annotation is not None]
    shapes = {a.arg for a in annotated if ast.unparse(a.annotation or a).endswith("Shape")}
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                left=ast.Subscript() | ast.Name() as left,
                ops=[ast.Lt() | ast.LtE()],
                comparators=[ast.Name() | ast.Attribute(attr="shape") as right],
            ) if isinstance(right, ast.Attribute) or right.id in shapes:
                each = f"`cute.elem_less({ast.unparse(left)}, {ast.unparse(right)})`"
                says = "`<` compares tuples from the left, like words in a dictionary: if the row "
                says += f"is smaller, the column is ignored. {each} compares each entry."
                yield node, says


def _never_filled(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield register tensors, including predicates, that are read but never written."""
    made: dict[str, ast.expr] = {}
    reads: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func) as call):
                if _name_of(func).startswith("make_rmem_tensor"):
                    made[name] = call
            case ast.Attribute(value=ast.Name() as used, attr=attr) if attr in _READ:
                reads.add(used)
            case ast.Subscript(value=ast.Name() as used, slice=at, ctx=ast.Load()):
                if not _keeps_a_mode(at):
                    reads.add(used)
            case ast.Call(func=func, args=args, keywords=keywords):
                if _name_of(func) == "copy":
                    reads.update(args[1:2])  # the source
                reads.update(k.value for k in keywords if k.arg == "pred")
    for name, where in made.items():
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
        used_after = [n for n in uses if isinstance(n.ctx, ast.Load)]
        if used_after and reads.issuperset(used_after):
            yield where, f"nothing is stored in `{name}`, so its values are undefined."


def _beyond_registers(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the first index beyond each register tensor whose size is a literal, if the index is a
    literal or the variable of a loop over a literal range and no condition can skip it."""
    sizes: dict[str, int | None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=args)):
                made = _name_of(func) == "make_rmem_tensor" and args and name not in sizes
                sizes[name] = _literal(args[0]) if made else None
    for name, size in sizes.items():
        if size is None:
            continue
        for at, index in [*_indices_from(tree, name, size)][:1]:
            says = f"`{name}` has {plural(size, 'element')}, but the index reaches {index}. "
            yield at, says + "The values beyond are undefined, so the compiler may remove code."


def _indices_from(tree: ast.AST, name: str, size: int) -> Iterator[tuple[ast.expr, int]]:
    """Yield indices of a tensor that are at least `size`, and their values."""
    last: dict[str, int] = {}  # the largest values of the variables of literal loops
    todo = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                tested = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                if tested & last.keys() or "const_expr" in ast.unparse(test):
                    continue
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
                continue
            case ast.For(target=ast.Name(id=var), iter=ast.Call(func=func, args=[count])) if (
                _name_of(func) == "range_constexpr" and (rounds := _literal(count)) is not None
            ):
                last[var] = rounds - 1
            case (
                ast.For(target=target) | ast.Assign(targets=[target]) | ast.AugAssign(target=target)
            ):
                for n in ast.walk(target):
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                        last.pop(n.id, None)
            case ast.Subscript(value=ast.Name(id=used), slice=at) if used == name:
                index = last.get(at.id) if isinstance(at, ast.Name) else _literal(at)
                if index is not None and index >= size:
                    yield node, index
        todo += [*ast.iter_child_nodes(node)][::-1]


def _literal(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _of_a_cluster(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield the first call that needs a cluster of several blocks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node.func) in _CLUSTER_CALLS:
            yield node, "no launch passes `cluster=`, so each block forms its own cluster."
            return


def _name_of(func: ast.expr) -> str:
    """Return the name of the called function, without its module."""
    match func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


# -- run-time values printed at compile time ---------------------------------------------------
def _prints_in(source: FunctionSource) -> Iterator[SourceLine]:
    definition = next((n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)), None)
    if definition is None:  # a lambda
        return
    parameters = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
    annotated = [(p.arg, p.annotation) for p in parameters if p.annotation is not None]
    tensors = {name for name, annotation in annotated if "Tensor" in ast.unparse(annotation)}
    statements = [n for n in ast.walk(definition) if isinstance(n, ast.Assign | ast.Call)]
    known: set[str] = set()
    for node in sorted(statements, key=lambda n: (n.lineno, n.col_offset)):
        match node:
            case ast.Assign(targets=targets, value=value):
                named = [t for t in targets if not isinstance(t, ast.Subscript)]
                names = {n.id for t in named for n in ast.walk(t) if isinstance(n, ast.Name)}
                known = known | names if _is_runtime(value, tensors, known) else known - names
            case ast.Call(func=ast.Name(id="print"), args=printed):
                if any(_is_runtime(one, tensors, known) for one in printed):
                    yield source.line(node)


def _is_runtime(value: ast.expr, tensors: set[str], known: set[str]) -> bool:
    """Return True if an expression certainly has a run-time value: a thread index, an element of a
    tensor, or a value computed from these."""
    match value:
        case ast.Name(id=name):
            return name in known
        case ast.Call(func=ast.Attribute(attr=name)) if name in _THREAD_INDICES:
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _STATIC_CALLS:
            return False
        case ast.Subscript(value=ast.Name(id=name), slice=at) if name in tensors:
            return not _keeps_a_mode(at)  # otherwise a tensor, whose layout can be printed
        case ast.Attribute(attr=name) if name in _STATIC:
            return False
        case ast.Call(args=parts):
            pass
        case ast.Subscript(value=part) | ast.Attribute(value=part) | ast.FormattedValue(value=part):
            parts = [part]
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.JoinedStr():
            parts = [c for c in ast.iter_child_nodes(value) if isinstance(c, ast.expr)]
        case _:
            return False
    return any(_is_runtime(part, tensors, known) for part in parts)


def _keeps_a_mode(index: ast.expr) -> bool:
    """Return True if an index contains None, as in `mX[None, 0]`."""
    return any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(index))
