"""The reference: signatures and docstrings, read from the source without importing it."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from forgebook.course import ROOT

__all__ = ["Item", "items", "made", "markdown"]

_WIDTH = 88
# Package below forgekit -> heading, in the order of the page.
_GROUPS = {
    "tensors": "Tensors",
    "compiling": "Compile",
    "checking": "Check",
    "profiling": "Predict and profile",
    "benching": "Measure and compare",
    "viz": "Pictures",
    "layouts": "Layouts",
    "lessons": "Exercises",
    "devices": "Where kernels run",
    "errors": "What can go wrong",
}
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):\s*$")
_ENTRY = re.compile(r"^(\*{0,2}\w+(?:(?:, | and )\*{0,2}\w+)*): ")
_NEXT = re.compile(r"(?<=[.;]) (?=\*{0,2}[a-z]\w*(?:, \*{0,2}\w+)*: )")  # on the same line

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Item:
    """A public name: where it is defined and its syntax tree."""

    name: str
    module: str
    node: Definition


@functools.cache
def _tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _public(module: str) -> list[str]:
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _homes(module: str) -> dict[str, str]:
    """Name -> module, of all that a package imports from its own modules."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("forgekit.")
        for alias in node.names
    }  # fmt: skip


def _definition(module: str, name: str) -> Item | None:
    for node in _tree(module).body:
        if isinstance(node, Definition) and node.name == name:
            return Item(name, module, node)
    home = _homes(module).get(name)
    return _definition(home, name) if home and home != module else None


def items(module: str) -> list[Item]:
    """What a package makes public and defines: functions and classes, no plain values."""
    homes = _homes(module)
    found = (_definition(homes.get(name, module), name) for name in _public(module))
    return [item for item in found if item is not None]


def made(module: str) -> str:
    """The reference of a package: `forgekit`, in groups, or one below it as a plain list."""
    found = items(module)
    prefix = "fk" if module == "forgekit" else module.removeprefix("forgekit.")
    if module != "forgekit":
        taken = {item.node for item in items("forgekit")}
        return "\n".join(markdown(i, prefix) for i in found if i.node not in taken)
    blocks = []
    groups = {**_GROUPS, **{_package(i): _package(i).capitalize() for i in found}, **_GROUPS}
    for package, heading in groups.items():
        of_group = [item for item in found if _package(item) == package]
        # What one calls first, then what it returns.
        of_group.sort(key=lambda item: isinstance(item.node, ast.ClassDef))
        if of_group:
            blocks += [f"## {heading}\n", *(markdown(item, prefix) for item in of_group)]
    return "\n".join(blocks)


def _package(item: Item) -> str:
    return item.module.split(".")[1]


def markdown(item: Item, prefix: str) -> str:
    """A heading, the signature, the docstring and, of a class, what it has."""
    node = item.node
    lines = [f"### `{prefix}.{item.name}`\n"]
    if isinstance(node, ast.FunctionDef):
        lines.append(f"```python\n{_signature(node)}\n```\n")
    lines.append(_text(ast.get_docstring(node) or ""))
    if isinstance(node, ast.ClassDef):
        members = list(_members(item))
        if members:
            lines.append("\n".join(members) + "\n")
    return "\n".join(lines)


def _members(item: Item) -> Iterator[str]:
    for member in _inherited(item):
        if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
            continue
        words = (ast.get_docstring(member) or "").split("\n\n")[0]
        if not words:
            continue
        decorators = [ast.unparse(d) for d in member.decorator_list]
        value = any(d.endswith("property") for d in decorators)
        call = member.name if value else _signature(member, width=10_000).partition(" -> ")[0]
        yield f"- `.{call}`: {_plain(' '.join(words.split()))}"


def _inherited(item: Item) -> list[ast.stmt]:
    """What stands in a class and, beyond that, in its bases; what all results have is left out."""
    body = list(item.node.body)
    own = {getattr(member, "name", "") for member in body}
    for base in map(ast.unparse, getattr(item.node, "bases", [])):
        found = _definition(item.module, base) if base != "Shown" else None
        if found is not None:
            body += [m for m in _inherited(found) if getattr(m, "name", "") not in own]
    return body


def _signature(node: ast.FunctionDef, width: int = _WIDTH) -> str:
    arguments = node.args
    bound = [*arguments.posonlyargs, *arguments.args][:1]
    if bound and bound[0].arg in ("self", "cls"):
        arguments = ast.arguments(**{**vars(arguments), "args": arguments.args[1:]})
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    short = f"{node.name}({ast.unparse(arguments)}){returns}"
    if len(short) <= width:
        return short
    parts = _split(ast.unparse(arguments))
    return f"{node.name}(\n" + "".join(f"    {p},\n" for p in parts) + f"){returns}"


def _split(arguments: str) -> list[str]:
    """The arguments one by one: split at commas outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for k, letter in enumerate(arguments):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(arguments[start:k].strip())
            start = k + 1
    return [*parts, arguments[start:].strip()]


def _text(docstring: str) -> str:
    """A docstring as Markdown: its sections as lists, indented pieces as code."""
    out: list[str] = []
    for block in inspect.cleandoc(docstring).split("\n\n"):
        head, _, rest = block.partition("\n")
        section = _SECTION.match(head)
        if section and rest:
            out.append(_section(section[1], inspect.cleandoc(rest)))
        elif all(line.startswith("    ") for line in block.splitlines() if line):
            out.append(f"```text\n{inspect.cleandoc(block)}\n```")
        elif re.match(r"[-*] |\d+\. ", block):
            out.append("\n".join(_plain(line) for line in block.splitlines()))
        else:
            out.append(_plain(block))
    return "\n\n".join(out) + "\n"


def _section(kind: str, text: str) -> str:
    entries: list[list[str]] = []
    for line in text.splitlines():
        entry = None if line.startswith(" ") else _ENTRY.match(line)
        if kind != "Returns" and entry:
            entries.append([f"`{entry[1]}`", line[entry.end() :]])
        elif entries:
            entries[-1].append(line.strip())
        else:
            entries.append(["", line.strip()])
    if len(entries) == 1 and not entries[0][0]:
        return f"**{kind}:** {_plain(' '.join(entries[0][1:]))}"
    listed = []
    for name, *words in entries:
        first, *more = _NEXT.split(" ".join(words)) if name else [" ".join(words)]
        pairs = [(name, first), *((f"`{n}`", text) for n, text in (m.split(": ", 1) for m in more))]
        listed += [
            f"- {n}{': ' if n else ''}{_plain(re.sub(';$', '.', text))}" for n, text in pairs
        ]
    return f"**{kind}:**\n\n" + "\n".join(listed)


def _plain(text: str) -> str:
    """Text in which only `code` is markup."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    return "".join(
        p if k % 2 else re.sub(r"([\\*_<>\[\]$|{}#~])", r"\\\1", p) for k, p in enumerate(parts)
    )
