"""Generate the reference: signatures and docstrings, which are read from the source without
importing it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forgebook.course import ROOT

__all__ = ["Item", "examples", "items", "made", "markdown"]

_WIDTH = 88
_EXAMPLES = ROOT / "book" / "examples"
# Maps a package in forgekit to its heading on the reference page.
_GROUPS = {
    "tensors": "Tensors",
    "compiling": "Compile",
    "devices": "Where kernels run",
    "checking": "Check",
    "profiling": "Predict and profile",
    "tracing": "What a run did",
    "benching": "Measure and compare",
    "layouts": "Layouts",
    "viz": "Explore and draw",
    "lessons": "Exercises",
    "errors": "What can go wrong",
}
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):\s*$")
_ENTRY = re.compile(r"^(\*{0,2}\w+(?:(?:, | and )\*{0,2}\w+)*): ")
_NEXT = re.compile(r"(?<=[.;]) (?=\*{0,2}[a-z]\w*(?:, \*{0,2}\w+)*: )")  # within a line

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Item:
    """A public name, the module from which its package imports it, and its syntax tree."""

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
    """Map each name that a package imports from its own modules to that module."""
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
    """Return a package's public functions and classes, without its constants."""
    homes = _homes(module)
    found = (_definition(homes.get(name, module), name) for name in _public(module))
    # Users import a name from a package, which may be above the module that defines the name.
    return [replace(i, module=homes.get(i.name, module)) for i in found if i is not None]


def made(what: str) -> str:
    """Return Markdown for a marker: for a package such as `forgekit.ops`, its reference; for
    `forgekit compiling devices`, the reference of these parts of `forgekit`; for `contents`, the
    names on each page; for `kernel`, the examples' kernel.
    """
    if what == "contents":
        return _contents()
    if what == "kernel":
        return f"```python\n{(_EXAMPLES / 'kernel.py').read_text(encoding='utf-8')}```\n"
    module, *packages = what.split()
    if not packages:
        return "\n".join(markdown(i, module.removeprefix("forgekit.")) for i in _own(module))
    blocks = []
    for package in packages:
        blocks += [f"## {_GROUPS[package]}\n", *(markdown(i, "fk") for i in _group(package))]
    return "\n".join(blocks)


def _group(package: str) -> list[Item]:
    """Return the names in `forgekit` that a package defines: functions first, then the classes of
    their results.
    """
    found = [item for item in items("forgekit") if item.module.split(".")[1] == package]
    return sorted(found, key=lambda item: isinstance(item.node, ast.ClassDef))


def _own(module: str) -> list[Item]:
    """Return a package's names that `forgekit` itself does not export."""
    taken = {item.node for item in items("forgekit")}
    return [item for item in items(module) if item.node not in taken]


def _contents() -> str:
    """List the reference pages in order of topic, with the names on each page."""
    lines = []
    contents = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    for file in re.findall(r"file: (book/reference_\w+)", contents):
        page = (ROOT / file).with_suffix(".md")
        text = page.read_text(encoding="utf-8")
        names = []
        for module, packages in re.findall(
            r"made: reference (forgekit[.\w]*)((?: \w+)*) -->", text
        ):
            of_page = [i for p in packages.split() for i in _group(p)] or _own(module)
            prefix = "fk" if packages else module.removeprefix("forgekit.")
            names += [
                f"[`{prefix}.{i.name}`]({page.name}#{prefix}{i.name.lower()})" for i in of_page
            ]
        lines.append(
            f"**[{text.splitlines()[0].lstrip('# ')}]({page.name})**: {' · '.join(names)}\n"
        )
    return "\n".join(lines)


@functools.cache
def examples() -> dict[str, str]:
    """Map each name to its example, in doctest's form."""
    text = (_EXAMPLES / "examples.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^### (\w+)\n", text, flags=re.MULTILINE)
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


def _example(name: str) -> str:
    """Return an example as the page shows it, without doctest's directives."""
    shown = examples()[name].replace("<BLANKLINE>", "")
    shown = re.sub(r"(?<=.)\.\.\.|^\.\.\.$", "…", shown, flags=re.MULTILINE)
    return f"```pycon\n{shown}\n```\n"


def markdown(item: Item, prefix: str) -> str:
    """Return the Markdown for an item: a heading, the signature, the docstring, an example and, for
    a class, its members.
    """
    node = item.node
    lines = [f"### `{prefix}.{item.name}`\n"]
    if isinstance(node, ast.FunctionDef):
        lines.append(f"```{{code-block}} python\n:class: signature\n{_signature(node)}\n```\n")
    lines.append(_text(ast.get_docstring(node) or ""))
    if prefix == "fk" and item.name in examples():
        lines.append(_example(item.name))
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
    """Return the members of a class and its bases, except those that all result classes share."""
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
    lines = [""]
    for part in _split(ast.unparse(arguments)):
        if len(lines[-1]) + len(part) > width - 6:
            lines.append("")
        lines[-1] += f" {part},"
    return f"{node.name}(\n" + "".join(f"   {line}\n" for line in lines) + f"){returns}"


def _split(arguments: str) -> list[str]:
    """Split arguments at commas outside brackets and quotes."""
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
    """Convert a docstring to Markdown, in which sections are lists and indented parts are code."""
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
    """Escape text so that only `code` is markup."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text, flags=re.DOTALL)
    return "".join(
        p if k % 2 else re.sub(r"([\\*_<>\[\]$|{}#~])", r"\\\1", p) for k, p in enumerate(parts)
    )
