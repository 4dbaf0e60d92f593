"""Show the measurements recorded in the JSON files in `measured/` as bars and tables."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgebook import operators
from forgebook.course import ROOT, notebooks
from forgekit.benching.suites.results import SCHEMA, SuiteResults

__all__ = ["Bar", "bars", "made"]

_OTHER = ROOT / "book" / "measured"
_SERIES = (  # maps a key in the virtual GPU's benchmark to its name
    ("vgpu_ms", "virtual GPU, bare"),
    ("sanitizer_ms", "with the sanitizer"),
    ("profile_ms", "profile"),
    ("triton_ms", "Triton's interpreter"),
)


_TITLES = {  # maps the stem of a file's name to its heading
    "drawn_shapes_h200": "Shapes drawn at random",
    "few_rows_h200": "Few long rows",
    "middle_rows_h200": "Up to 528 rows of 6 to 128 kB",
    "shared_rows_h200": "Up to 132 rows of 65,536 elements or more",
    "small_h200": "Tensors of up to 1 MB",
    "short_rows_h200": "Configurations tried for short rows",
    "softmax_peers_h200": "Softmax and its gradient next to peers, in CUDA graphs",
    "softmax_rows_h200": "Configurations tried for softmax",
}
_PEERS = ("torch", "quack", "Triton")  # the prefixes of peers' names


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value, which determines the length, and the text at its end."""

    label: str
    value: float
    text: str


def made(kind: str) -> str:
    """Return Markdown for all files of a kind, or a sentence that there are none.

    kind: `gpu` (the notebooks' steps), `operators` (forgekit's operators and their peers) or `vgpu`
    (the virtual GPU, and all other files).
    """
    of_steps = sorted(ROOT.glob("week*/recorded/[0-9]*.json"))
    paths = of_steps if kind == "gpu" else sorted(_OTHER.glob("*.json"))
    files = [(file, _read(file)) for file in paths]
    if kind != "gpu":
        files = [(file, data) for file, data in files if _of_operators(data) == (kind != "vgpu")]
        files.sort(key=lambda found: _place(found[1]))
    blocks = [text for file, data in files if (text := _file(file, data))]
    return "\n\n".join(blocks) or "None are recorded yet.\n"


def _read(file: Path) -> dict[str, Any]:
    data = json.loads(file.read_text(encoding="utf-8"))
    return data if isinstance(data, dict) else {}


def _place(data: dict[str, Any]) -> int:
    """Return a file's sort key: operators' times come first, then host times, then all others."""
    if data.get("schema") == SCHEMA:
        return 0 if data["rows"] else 1
    return 2


def _of_operators(data: dict[str, Any]) -> bool:
    steps = any("step" in row for row in data.get("rows", ())[:1])
    return data.get("schema") == SCHEMA or ("gpu" in data and not steps)


def _file(file: Path, data: dict[str, Any]) -> str:
    if data.get("schema") == SCHEMA:
        return operators.markdown(SuiteResults.from_dict(data, name=file.name))
    rows = data.get("rows")
    if not (isinstance(rows, list) and rows and all(isinstance(r, dict) for r in rows)):
        return ""
    if {"gpu", "ceiling_gbps"} <= data.keys() and {"step", "shape", "dtype", "gbps"} <= rows[
        0
    ].keys():
        return _steps(file.stem, data)
    if {"operation", "size", "vgpu_ms"} <= rows[0].keys():
        return _virtual(data)
    if "ceiling_gbps" in data and {"op", "kernel", "threads", "gbps"} <= rows[0].keys():
        return _configurations(data)
    return _other(file.stem, data)


# -- steps on a GPU ----------------------------------------------------------------------------
def _steps(name: str, data: dict[str, Any]) -> str:
    ceiling = float(data["ceiling_gbps"])
    out = [
        f"### {_notebook(name)}",
        f"{data['gpu']}, {data.get('date', 'without a date')}. A copy of 1 GB reached "
        f"{ceiling:,.0f} GB/s in the same run (the dashed line). Grey bars are peers. "
        f"{data.get('method', 'CUDA events, median')}.",
    ]
    cases: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in data["rows"]:
        cases.setdefault((tuple(row["shape"]), row["dtype"]), []).append(row)
    largest = max(_count(shape) for shape, _ in cases)
    drawn = [
        bars(f"{_shown(list(shape))}, {dtype}",
             [Bar(r["step"], r["gbps"], f"{r['gbps']:,.0f} GB/s") for r in rows], ceiling=ceiling)
        for (shape, dtype), rows in cases.items() if _count(shape) == largest
    ]  # fmt: skip
    out.append(drawn[0])
    head = ("step", "shape", "type", "ms", "GB/s", "of the copy")
    table = [
        (r["step"], _shown(r["shape"]), r["dtype"], f"{r['ms']:.4f}",
         f"{r['gbps']:,.0f}", f"{100 * r['gbps'] / ceiling:.0f} %")
        for r in data["rows"]
    ]  # fmt: skip
    more = "".join(drawn[1:])
    return "\n\n".join([*out, _folded("All sizes and types", head, table, more)])


def _notebook(name: str) -> str:
    """Return a link to a notebook with its title as text, or the notebook's name if there is no
    such notebook.
    """
    found = next((n for n in notebooks() if n.name == name), None)
    if found is None:
        return _title(name)
    return f"[{found.title}](../{found.path})"


def _count(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


# -- the virtual GPU's speed --------------------------------------------------------------------
def _virtual(data: dict[str, Any]) -> str:
    rows = data["rows"]
    with_peer = [r["size"] for r in rows if r.get("triton_ms")]
    size = max(with_peer or [r["size"] for r in rows])
    out = [
        f"### The virtual GPU on an {data.get('processor', 'machine')} machine",
        f"Recorded {data.get('date', 'without a date')}, Python {data.get('python', '?')}, "
        f"{data.get('cores', '?')} cores, of which it uses one. Shorter is better.",
    ]
    for row in (r for r in rows if r["size"] == size):
        drawn = [
            Bar(name, row[key], f"{row[key]:,.1f} ms") for key, name in _SERIES if row.get(key)
        ]
        out.append(bars(f"{_title(row['operation'])}, {size:,} × {size:,}, float32", drawn))
    head = ("operation", "size", *(f"{name}, ms" for _, name in _SERIES))
    table = [
        (_title(r["operation"]), f"{r['size']:,}",
         *(f"{r[key]:,.1f}" if r.get(key) else "–" for key, _ in _SERIES))
        for r in rows
    ]  # fmt: skip
    return "\n\n".join([*out, _folded("All sizes", head, table)])


# -- configurations ------------------------------------------------------------------------------
def _configurations(data: dict[str, Any]) -> str:
    """List the configurations that were tried for the tables in `forgekit.ops`."""
    says = (
        "The rules in `forgekit/ops/tile_choice.py` and `columns.py` choose from these. "
        f"{data['gpu']}, {data['date']}. {data['method']} Ceiling: {data['ceiling_gbps']:,} GB/s."
    )
    head = ("operator", "size", "type", "GB/s", "kernel", "threads", "rows", "loads", "blocks")
    table = [
        (r["op"], _shown(r["shape"]), r["dtype"], f"{r['gbps']:,.0f}",
         r.get("kernel", "columns"), _shown(r.get("threads", r.get("lanes"))),
         _shown(r.get("rows")), _shown(r.get("loads")),
         _shown(r["cluster"] * r["split"] if "split" in r else None))
        for r in data["rows"]
    ]  # fmt: skip
    title = "Configurations that were tried"
    return "\n\n".join([f"### {title}", says, _folded(f"{title}, GB/s", head, table)])


# -- other files --------------------------------------------------------------------------------
def _other(name: str, data: dict[str, Any]) -> str:
    known = {k: v for k, v in data.items() if isinstance(v, (str, int, float))}
    lead = [str(known.pop(k)) for k in ("gpu", "date") if k in known]
    method = f"{known.pop('method', '')}".strip()
    more = "; ".join(f"{k.replace('_', ' ')}: {v}" for k, v in known.items())
    facts = " ".join(f"{text.rstrip('.')}." for text in (", ".join(lead), method, more) if text)
    head = list(dict.fromkeys(key for row in data["rows"] for key in row))
    table = [[_shown(row.get(key)) for key in head] for row in data["rows"]]
    title = _TITLES.get(name) or _title(name)
    return "\n\n".join([f"### {title}", facts, _folded(f"{title}: the numbers", head, table)])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list):
        return " × ".join(f"{size:,}" for size in value)
    return "–" if value is None else str(value)


def _title(name: str) -> str:
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def bars(caption: str, drawn: Sequence[Bar], *, ceiling: float | None = None) -> str:
    """Return bars as an HTML table, which screen readers can read and which fits on a phone.

    ceiling: the value at which a dashed line crosses all bars. Bars of peers are grey.
    """
    full = max([ceiling or 0, *(bar.value for bar in drawn)]) or 1
    rows = "".join(
        f'<tr><th scope="row">{html.escape(bar.label)}</th>'
        f'<td><span class="bar{" peer" if bar.label.startswith(_PEERS) else ""}" '
        f'style="--part:{bar.value / full:.4f}"></span>'
        f"<span>{html.escape(bar.text)}</span></td></tr>"
        for bar in drawn
    )
    title = f"<caption>{html.escape(caption)}</caption>"
    line = f' style="--ceiling:{ceiling / full:.4f}"' if ceiling else ""
    return f'<table class="bars"{line}>{title}<tbody>{rows}</tbody></table>'


def _folded(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], under: str = "") -> str:
    cells = ([html.escape(cell) for cell in row] for row in rows)
    return operators.folded(title, head, cells, under)
