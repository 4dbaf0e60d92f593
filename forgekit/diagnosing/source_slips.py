"""What compiles and is surely a mistake, found in the source of a student's CuTe DSL functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forgekit.diagnosing.source_lint import reached_functions
from forgekit.errors import SourceLine

__all__ = ["find_slips"]

# Attributes of a tensor in registers that store nothing in it.
_READ = {"load", "layout", "shape", "stride", "element_type", "dtype", "type"}


def find_slips(fn: object) -> list[str]:
    """The slips in `fn` and in the functions that it reaches, each with its line in a sentence:
    tuples compared by `<`, registers that are read and that nothing is stored in.

    Conservative: a tensor that is handed to any function but as a source or a predicate may be
    filled there.
    """
    return [
        f"{SourceLine(source.filename, source.first_line + node.lineno - 1, '').where}: {says}"
        for source in reached_functions(fn)
        for node, says in (*_tuples_compared(source.tree), *_never_filled(source.tree))
    ]


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
                says = "`<` compares tuples from the left, as words in a dictionary: where the row "
                says += f"is smaller, the column is not asked. {each} compares each entry."
                yield node, says


def _never_filled(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Tensors in registers, predicates among them, of which all uses are reads."""
    made: dict[str, ast.expr] = {}
    reads: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func) as call):
                if ast.unparse(func).rpartition(".")[2].startswith("make_rmem_tensor"):
                    made[name] = call
            case ast.Attribute(value=ast.Name() as used, attr=attr) if attr in _READ:
                reads.add(used)
            case ast.Subscript(value=ast.Name() as used, slice=at, ctx=ast.Load()):
                if not any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(at)):
                    reads.add(used)
            case ast.Call(func=func, args=args, keywords=keywords):
                if ast.unparse(func).rpartition(".")[2] == "copy":
                    reads.update(args[1:2])  # the source
                reads.update(k.value for k in keywords if k.arg == "pred")
    for name, where in made.items():
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
        used_after = [n for n in uses if isinstance(n.ctx, ast.Load)]
        if used_after and reads.issuperset(used_after):
            yield where, f"nothing is ever stored in `{name}`, so it holds anything."
