"""Prepare a stored notebook for the book: fold outputs, and describe pictures."""

from __future__ import annotations

import ast
import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forgebook.course import ROOT, anchor

__all__ = ["asked", "described", "linked", "named", "prepared"]

_MENTION = re.compile(r"(?<![\[`])`(\d\d_\w+)`(?![\]`])")
_PAGE = re.compile(r"(?<![\[`])`book/(\w+)\.md`(?![\]`])")
_PROMISES = re.compile(r"\n(?=\*\*You (?:will|need))")  # each begins a new line
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
# Maps forgekit's text colours, which must suit both white and black pages, to the book's, which
# depend on the page.
_READABLE = {
    "#009e73": "color:var(--forge-right)",
    "#d55e00": "color:var(--forge-wrong)",
    "#7f7f7f": "color:var(--forge-faint)",
}
_FAINT = re.compile(rf"(?<![-\w])color:\s*({'|'.join(_READABLE)})", re.IGNORECASE)
_OF_A_NOTEBOOK = re.compile(r'(href="[^":]+)\.ipynb(?=")')
_FENCED = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def prepared(text: str, folder: Path) -> str:
    """Return the notebook `text`, stored in `folder`, as the book shows it.

    Outputs that JupyterLab folds are folded, predictions have input fields, pictures have
    descriptions, exercises are in boxes with anchors, and names of other notebooks are links.
    """
    notebook = json.loads(text)
    section, cells = "", []
    for cell in notebook["cells"]:
        asking: list[dict[str, Any]] = []
        folded = cell["metadata"].get("jupyter", {}).get("outputs_hidden")
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = _HEADING.findall(source)
            section = headings[-1] if headings else section
            cell["source"] = _boxed(
                _PROMISES.sub(r"\\\n", linked(source, folder)), cell["metadata"]
            )
        elif cell["cell_type"] == "code":
            if folded:
                cell["metadata"].setdefault("tags", []).append("hide-output")
            cell["outputs"] = [described(output, section) for output in cell["outputs"]]
            if questions := list(asked(source)):
                asking = [_fields(questions, f"predict-{len(cells)}")]
        cells += [*asking, cell] if folded else [cell, *asking]
    notebook["cells"] = cells
    return json.dumps(notebook)


def _boxed(source: str, metadata: dict[str, Any]) -> str:
    """Add the tags that enclose an exercise, from below its heading to the end of its solution, in
    a box with an anchor.
    """
    if metadata.get("part") == "task":
        heading, _, task = source.partition("\n")
        box = f'<div class="exercise">\n\n{task.lstrip()}'
        return f"({anchor(metadata['exercise'])})=\n{heading}\n\n{box}"
    return f"{source}\n\n</div>" if metadata.get("part") == "solution" else source


def asked(code: str) -> Iterator[str]:
    """Yield the predictions that a cell requests: questions, and metrics in words."""
    if "fk.predict(" not in code:
        return
    for call in ast.walk(ast.parse(code)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "fk.predict":
            yield from (a.value for a in call.args[:1] if isinstance(a, ast.Constant))
            yield from (k.arg.replace("_", " ") for k in call.keywords if k.arg)


def _fields(questions: list[str], name: str) -> dict[str, Any]:
    """Return a cell with input fields for predictions, which forge.js compares with the answers."""
    fields = "".join(
        f'<label><span>Your prediction: {html.escape(question)}</span><input maxlength="60" '
        f'data-asks="{html.escape(question)}" placeholder="stored only in this browser"></label>\n'
        for question in questions
    )
    source = f'<div class="predict">\n{fields}</div>'
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def linked(text: str, folder: Path) -> str:
    """Return the Markdown `text` of a file in `folder` with links for the names of the folder's
    notebooks, such as `00_start_here`, and of the book's pages, such as `book/setup.md`.
    """

    def to(path: Path, mention: re.Match[str]) -> str:
        return f"[{mention[0]}]({Path(os.path.relpath(path, folder)).as_posix()})"

    def link(mention: re.Match[str]) -> str:
        name = f"{mention[1]}.ipynb"
        for path in (folder / name, *sorted(ROOT.glob(f"week*/{name}"))):
            if path.is_file():
                return to(path, mention)
        return mention[0]

    def page(mention: re.Match[str]) -> str:
        path = ROOT / "book" / f"{mention[1]}.md"
        return to(path, mention) if path.is_file() else mention[0]

    parts = _FENCED.split(text)  # every second part is code
    return "".join(
        p if k % 2 else _PAGE.sub(page, _MENTION.sub(link, p)) for k, p in enumerate(parts)
    )


def described(output: dict[str, Any], section: str = "") -> dict[str, Any]:
    """Return an output in which the plain text describes the picture.

    section: the title of the section, which describes a bare matplotlib Figure, because that has no
    text.
    """
    data = output.get("data", {})
    if "text/html" in data:
        text = _FAINT.sub(lambda found: _READABLE[found[1].lower()], "".join(data["text/html"]))
        text = _OF_A_NOTEBOOK.sub(r"\1.html", text)
        return {**output, "data": {**data, "text/html": text}}
    if not any(kind.startswith("image/") for kind in data):
        return output
    words = "; ".join("".join(data.get("text/plain", "")).split("\n")).strip()
    words = re.sub(r"\s*;\s*", "; ", words)
    if words.startswith("<Figure") or not words:
        words = f"Figure for the section “{section}”"
    if "image/svg+xml" in data:  # inline, so that the colours follow the page
        picture = named("".join(data["image/svg+xml"]), words)
    else:
        kind = next(k for k in ("image/png", "image/jpeg") if k in data)
        content = "".join(data[kind]).replace("\n", "")
        picture = f'<img alt="{html.escape(words)}" src="data:{kind};base64,{content}">'
    shown = {"text/plain": data.get("text/plain", ""), "text/html": picture}
    return {**output, "data": shown}


def named(svg: str, words: str) -> str:
    """Return the SVG with an accessible name."""
    svg = svg[svg.index("<svg") :]
    head, _, rest = svg.partition(">")
    head = re.sub(r'\s(role|aria-label)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{html.escape(words)}">{rest}'
