"""Grade a mixed class with Dask `local:2`, first undisturbed, then while killing workers; print
figures.

    python -m tests.lessons.classroom.killed_workers FOLDER 200 --every 45

A benchmark for book/classroom.md, not a test: it takes minutes. Of ten submissions, one does not
parse, one is truncated and one is hostile; the others contain right, wrong and unfinished answers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil

from forgekit.course import find_course
from tests.lessons.classroom.banks import make_class
from tests.lessons.classroom.hostile import HOSTILE, SLOW

NOTEBOOK = "week0_copy_transpose/00_start_here.ipynb"


def mix(folder: Path) -> None:
    """Break three of every ten submissions, or make them hostile."""
    cells = list((HOSTILE | SLOW).values())
    for number, file in enumerate(sorted((folder / "submitted").rglob("*.ipynb"))):
        if number % 10 == 7:
            file.write_text(file.read_text("utf-8")[:-100], "utf-8")
        elif number % 10 in (8, 9):
            book = nbformat.read(file, as_version=4)
            cell = cells[number // 10 * 11 % len(cells)] if number % 10 == 9 else "def scale(:"
            book.cells.insert(3, nbformat.v4.new_code_cell(cell))
            nbformat.write(book, file)


def graded(folder: Path, out: Path, every_s: float, kills: int) -> tuple[float, float, int]:
    """Grade the class; return the time in seconds, the peak memory of all processes in MiB, and the
    number of killed workers.

    Memory that several processes share is divided between them.

    every_s: the seconds between two kills, counted from the first result. kills: the maximum number
    of workers to kill.
    """
    call = [sys.executable, "-m", "forgekit", "grade", str(folder / "submitted"), "--out", str(out),
            "--scheduler", "local:2", "--seed", "1", "--seconds", "30"]  # fmt: skip
    began, most, killed, chance = time.monotonic(), 0, 0, random.Random(0)
    with subprocess.Popen(call, stdout=subprocess.DEVNULL) as process:
        tree, due = psutil.Process(process.pid), began + every_s
        while process.poll() is None:
            shares = 0
            for one in [tree, *tree.children(recursive=True)]:
                with contextlib.suppress(psutil.Error, OSError):  # the process has ended
                    shares += one.memory_full_info().pss
            most = max(most, shares)
            if not (out / "results.jsonl").exists():  # the workers are starting
                due = time.monotonic() + every_s
            elif killed < kills and time.monotonic() > due:
                with contextlib.suppress(psutil.Error, IndexError):  # the workers are ending
                    workers = [p for p in tree.children() if "spawn_main" in " ".join(p.cmdline())]
                    chance.choice(workers).kill()
                    killed, due = killed + 1, due + every_s
            time.sleep(1)
    return time.monotonic() - began, most / 2**20, killed


def rows(out: Path) -> dict[str, str]:
    """Map each student to the row that counts."""
    found = json.loads((out / "results.json").read_text("utf-8"))["rows"]
    return {row["student"]: json.dumps(row) for row in found}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--every", type=float, default=45)
    parser.add_argument("--kills", type=int, default=1000)
    given = parser.parse_args()
    course = find_course()
    assert course is not None
    make_class(given.folder, given.count, course / NOTEBOOK)
    mix(given.folder)
    results = {}
    for name, kills in (("quiet", 0), ("killed", given.kills)):
        out = given.folder / name
        seconds, mib, killed = graded(given.folder, out, given.every, kills)
        results[name] = rows(out)
        print(f"{name}: {seconds:.0f} s, {seconds / given.count:.1f} s per submission, "
              f"{mib:,.0f} MiB at most, {killed} workers killed, "
              f"{given.count - len(results[name])} rows lost, "
              f"load average {os.getloadavg()[1]:.1f}", flush=True)  # fmt: skip
    differ = [s for s, row in results["quiet"].items() if results["killed"].get(s) != row]
    print(f"{len(differ)} rows differ: {', '.join(differ)}")


if __name__ == "__main__":
    main()
