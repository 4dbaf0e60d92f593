"""Stand in for ncu, nsys or compute-sanitizer on PATH, depending on the name of the called file.

This script accepts only the options that forgekit uses, refuses values that the real tool would
refuse, runs the command, and writes recorded output of the real tools (`samples/`). It appends its
calls to `calls.jsonl` in its folder; `behaviour.json` in this folder can make it fail.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(sys.argv[0]).parent
SAMPLES = Path(os.environ["FORGEKIT_FAKE_SAMPLES"])
NAME = Path(sys.argv[0]).name
BEHAVIOUR = HERE / "behaviour.json"
CHANGES = json.loads(BEHAVIOUR.read_text()) if BEHAVIOUR.exists() else {}


def refuse(why):
    print(f"fake {NAME}: {why}", file=sys.stderr)
    sys.exit(99)


def options_of(words, *flags, **values):
    """Parse the options before the command strictly; values: the pattern of each option's
    values."""
    parser = argparse.ArgumentParser(prog=NAME, allow_abbrev=False)
    for flag in flags:
        parser.add_argument(f"--{flag}", action="store_true")
    for option in values:
        action = "append" if option == "section" else "store"
        parser.add_argument(f"--{option.replace('_', '-')}", action=action, dest=option)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    found = parser.parse_args(words)
    for option, pattern in values.items():
        given = getattr(found, option)
        for value in given if isinstance(given, list) else [given]:
            if value is not None and not re.fullmatch(pattern, value):
                refuse(f"--{option} {value}")
    return found


def run(command):
    """Run the command as a child of the tool, and record its environment."""
    seen = {name: os.environ.get(name) for name in CHANGES.get("record", [])}
    with (HERE / "calls.jsonl").open("a") as calls:
        print(json.dumps({"tool": NAME, "argv": sys.argv[1:], "environment": seen}), file=calls)
    if not command:
        refuse("no command")
    return subprocess.run(command).returncode


def ncu_run(words):
    found = options_of(
        words,
        clock_control="none", target_processes="all", kernel_name_base="function",
        kernel_name="regex:.+", launch_skip=r"\d+", launch_count="[1-9][0-9]*",
        section="SpeedOfLight|WarpStateStats|Occupancy|LaunchStats", set="full",
        import_source="yes", metrics=r"[\w.,]+", export=r"/.+\.ncu-rep", log_file="/.+",
    )  # fmt: skip
    if found.clock_control is None or found.export is None or found.metrics is None:
        refuse("without --clock-control, --export or --metrics")
    status = run(found.command)
    lines = (SAMPLES / "ncu_raw.csv").read_text().splitlines()
    head, units, *rows = csv.reader(lines)
    pattern = found.kernel_name.removeprefix("regex:")
    kept = [row for row in rows if re.search(pattern, row[head.index("Kernel Name")])]
    kept = kept[int(found.launch_skip or 0) :][: int(found.launch_count or len(kept))]
    log = ["==PROF== Connected to process 5433 (/usr/bin/python3)"]
    if status:
        log.append(f"==ERROR== The application returned an error code ({status}).")
    if not kept:
        log += ["==WARNING== No kernels were profiled.", "Available Kernels:"]
        log += [f"{i}. {name}" for i, name in enumerate({row[4]: 0 for row in rows}, 1)]
    log = CHANGES.get("log", log)
    Path(found.log_file).write_text("\n".join(log) + "\n")
    if kept and CHANGES.get("report", True):
        if not found.section and not found.set:  # with only --metrics, no other metrics are present
            of_launch = [i for i, name in enumerate(head) if "__" not in name]
            asked = found.metrics.split(",")
            of_metrics = [i for i, name in enumerate(head) if name in asked]
            head, units, *kept = (
                [row[i] for i in of_launch + of_metrics] for row in (head, units, *kept)
            )
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows([head, units, *kept])
        Path(found.export).write_text("report of ncu\n" + text.getvalue())
    return CHANGES.get("exit", status)


def ncu(words):
    if words[0] != "--import":
        return ncu_run(words)
    found = options_of(words, "csv", **{"import": ".+", "page": "raw", "print_units": "base"})
    title, _, page = Path(getattr(found, "import")).read_text().partition("\n")
    if title != "report of ncu" or not (found.csv and found.page and found.print_units):
        refuse(f"--import of {title!r}")
    print("==PROF== talk of ncu", page, sep="\n", end="")
    return 0


def nsys(words):
    if words[0] == "stats":
        found = options_of(words[1:], format="csv", force_export="true", report=r"[\w,]+")
        [report] = found.command
        if Path(report).read_text() != "report of nsys\n":
            refuse("not a report")
        Path(report).with_suffix(".sqlite").write_text("a database")
        print((SAMPLES / "nsys_stats.txt").read_text(), end="")
        return 0
    if words[0] != "profile":
        refuse(words[0])
    found = options_of(
        words[1:], trace="cuda,nvtx", sample="none", cpuctxsw="none", cuda_graph_trace="node",
        output=r"/.+\.nsys-rep",
    )  # fmt: skip
    status = run(found.command)
    if CHANGES.get("report", True):
        Path(found.output).write_text("report of nsys\n")
    return status


def compute_sanitizer(words):
    found = options_of(
        words, tool="memcheck|racecheck|initcheck|synccheck", target_processes="all",
        show_backtrace="no", log_file="/.+",
    )  # fmt: skip
    status = run(found.command)
    sample = CHANGES.get(found.tool, f"{found.tool}_clean.txt")
    text = (SAMPLES / sample).read_text() if sample.endswith(".txt") else sample
    Path(found.log_file).write_text(text)
    return status


if __name__ == "__main__":
    sys.exit({"ncu": ncu, "nsys": nsys, "compute-sanitizer": compute_sanitizer}[NAME](sys.argv[1:]))
