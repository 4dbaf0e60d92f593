"""Nsight Compute from Python: which metrics there are, how it is called, what its CSV says."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# The counters that the virtual GPU is compared in: short name -> names, the first that exists.
ALIASES: dict[str, tuple[str, ...]] = {}
for _word, _op in (("load", "ld"), ("store", "st"), ("atomic", "atom"), ("reduction", "red")):
    for _what in ("requests", "sectors"):
        ALIASES[f"global_{_word}_{_what}"] = (f"l1tex__t_{_what}_pipe_lsu_mem_global_op_{_op}.sum",)
for _word, _op in (("load", "ld"), ("store", "st"), ("atomic", "atom"), ("async", "ldgsts")):
    ALIASES[f"shared_{_word}_wavefronts"] = (
        f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{_op}.sum",
        f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{_op}.sum",
    )
    ALIASES[f"shared_{_word}_bank_conflicts"] = (
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{_op}.sum",
        f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{_op}.sum",
    )
for _what in ("requests", "sectors"):
    ALIASES[f"async_{_what}"] = (
        f"l1tex__t_{_what}_pipe_lsu_mem_global_op_ldgsts.sum",
        f"smsp__sass_l1tex_t_{_what}_pipe_lsu_mem_global_op_ldgsts.sum",
    )
ALIASES["instructions"] = ("smsp__inst_executed.sum",)
ALIASES["thread_instructions"] = ("smsp__thread_inst_executed.sum",)


@dataclass(frozen=True)
class Group:
    """Metrics that one run of ncu collects.

    seconds: no further kernel is launched after so long. cases: which cases, a pattern of names.
    metrics: patterns of base names (without `.sum`). ratios: full names to collect besides.
    """

    seconds: float
    cases: str
    metrics: tuple[str, ...]
    ratios: tuple[str, ...] = ()


GROUPS = {
    # What the hardware counts.
    "core": Group(
        200, "",
        (r"l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_(ld|st|atom|red|ldgsts\w*)",
         r"l1tex__data_pipe_lsu_wavefronts_mem_shared(_op_\w+|_cmd_\w+)?",
         r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared(_op_\w+)?",
         r"smsp__inst_executed", r"smsp__thread_inst_executed"),
    ),
    # What ncu finds by instrumenting the machine code: exact by instruction, slow to collect.
    "sass": Group(
        60,
        r"^[tr]_|half_warps|uneven|cpasync|atom|red|tile|xor|_many|128_.*_0$|64_.*_0$|^copy_f",
        (r"smsp__sass_l1tex_\w*(shared|ldgsts)\w*", r"smsp__sass_l1tex_t_\w*global\w*",
         r"smsp__sass_l1tex_tags_mem_global\w*",
         r"smsp__sass_inst_executed_op_(shared|global|ldgsts)\w*",
         r"smsp__sass_branch_targets(_threads_(divergent|uniform))?",
         r"smsp__sass_thread_inst_executed(_op_(memory|control|integer|fp32)_pred_on)?",
         r"smsp__thread_inst_executed_pred_on"),
    ),
    # For information: other levels of memory, instructions by kind.
    "info": Group(
        30,
        r"^[tr]_|half_warps|uneven|^copy_f|stride|^gather_|^modifiers|^plane|_many",
        (r"dram__bytes_(read|write)", r"lts__t_sectors_op_(read|write|atom|red)",
         r"smsp__inst_executed_op_(shared|global|ldgsts)\w*", r"l1tex__m_xbar2l1tex_read_sectors",
         r"l1tex__data_pipe_lsu_wavefronts"),
        ("smsp__thread_inst_executed_per_inst_executed.ratio",),
    ),
}  # fmt: skip

_EXCLUDED = re.compile(r"lookup|evict|_mem_local|texture|surface")
INTERESTING = ("shared", "ldgsts", "_atom", "_op_red", "_red_")  # written down for later reading


def existing_metrics(ncu: str) -> list[str]:
    """Base names of all metrics that ncu knows for the GPU here; empty if it does not say."""
    done = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, timeout=120)
    return sorted(set(re.findall(r"^\s*([a-z][a-z0-9]*__[a-z0-9_]+)\b", done.stdout, re.MULTILINE)))


def chosen(group: Group, existing: Iterable[str]) -> list[str]:
    """Full names of the group's metrics that exist. Where nothing is known: the plainest ones."""
    existing = list(existing)
    if not existing:
        plain = (names[0] for names in ALIASES.values())
        return [n for n in plain if re.search(r"_(ld|st)\.sum$", n)]
    wanted = [re.compile(p) for p in group.metrics]
    names = [
        f"{name}.sum"
        for name in existing
        if any(p.fullmatch(name) for p in wanted) and not _EXCLUDED.search(name)
    ]
    known = set(existing)
    return names + [r for r in group.ratios if r.rsplit(".", 1)[0] in known]


def command(ncu: str, metrics: list[str], log: Path, program: list[str]) -> list[str]:
    """ncu over one program: kernels of CuTe DSL alone, CSV to `log`."""
    return [
        ncu, "--clock-control", "none", "--cache-control", "all", "--target-processes", "all",
        "--kernel-name-base", "function", "--kernel-name", "regex:kernel_cutlass",
        "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log),
        "--metrics", ",".join(metrics), *program,
    ]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One profiled kernel: its name, launch geometry as ncu writes it, metric -> value."""

    kernel: str
    block: str
    grid: str
    values: dict[str, int | float | None] = field(default_factory=dict)


def parse(text: str) -> list[Row]:
    """The rows of ncu's raw CSV page in order of launch; lines of ncu's own talk are skipped.

    Raises:
        ValueError: no header line.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError("no CSV in ncu's output:\n" + text[-2000:])
    table = list(csv.DictReader(lines[start:]))
    rows = []
    for line in table:
        if not line["ID"].strip().isdigit():
            continue  # the line of units, or a header again
        values = {k: number(v) for k, v in line.items() if k and "__" in k}
        rows.append(Row(line["Kernel Name"], line["Block Size"], line["Grid Size"], values))
    return rows


def number(text: str | None) -> int | float | None:
    """`2,560` -> 2560; None for what ncu could not measure."""
    plain = (text or "").replace(",", "").strip()
    try:
        value = float(plain)
    except ValueError:
        return None
    if value != value:
        return None
    return int(value) if value.is_integer() else value
