"""Run other projects' unmodified CuTe DSL code on the virtual GPU, and print each file's outcome.

    python -m tests.cuda.corpus CHECKOUT [--match TEXT]... [--skip TEXT]... [--out FILE]

A script runs as in `forgekit run`, in a fork of a process that has imported torch and CuTe DSL.
`install(cuda=True)` is inserted as the first cell of a notebook. In a test file, `--tests` evenly
spaced tests run. Files already in --out are skipped. PYTHONPATH must contain the checkout's other
requirements.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

# Options that reduce a script's sizes if the defaults suit only a GPU.
ARGUMENTS = {
    "ampere/kernel/dense_gemm/sgemm": "--mnk 256,256,64",
    "ampere/kernel/dense_gemm/tensorop": "--mnkl 256,256,64,1",
    "flash_attention_v2": "--batch_size 1 --seqlen_q 256 --seqlen_k 256 --num_head 2",
    "hstu_attention": "--batch_size 1 --seqlen_q 128 --seqlen_k 128 --num_head 1",
    "hopper/kernel/dense_gemm": "--mnkl 256,256,128,1",
    "geforce/kernel/dense_gemm": "--mnkl 256,256,128,1",
    "hopper/kernel/grouped_gemm": "--problem_sizes_mnkl (256,128,128,1)",
    "hopper/kernel/attention": "--q_shape 1,128,2,128 --k_shape 1,128,2,128",
}
_FOR_BLACKWELL = ("/blackwell/", "/primitives/", "/task_scheduling/")
_TAIL = re.compile(r"\b(FAIL|FAILED|Mismatch)")


def main() -> None:
    """Run the requested files and print one line per file, then the counts."""
    asked = _asked()
    if asked.inside:
        inside = {"notebook": _notebook, "tests": _tests}[asked.inside]
        sys.exit(inside(asked.checkout, asked.tests))
    rows = json.loads(asked.out.read_text()) if asked.out and asked.out.exists() else []
    done = {row["file"] for row in rows}
    import cutlass.cute.testing  # noqa: F401 - before the forks
    import torch  # noqa: F401

    for path in sorted(_files(asked.checkout, asked.match, asked.skip)):
        if _name(path, asked) in done:
            continue
        rows.append(_run(path, asked))
        print("{ended:8} {seconds:6} s  {file}  {why}".format(**rows[-1]), flush=True)
        if asked.out:
            asked.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(dict(collections.Counter(row["ended"] for row in rows)))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "--match", action="append", help="run only files whose paths contain this text"
    )
    parser.add_argument("--skip", action="append", default=[], help="skip files with this text")
    parser.add_argument("--limit-s", type=int, default=120, help="CPU time per file (default 120)")
    parser.add_argument("--tests", type=int, default=3, help="tests per test file (default 3)")
    parser.add_argument("--out", type=Path, help="add each outcome to this JSON file")
    parser.add_argument("--inside", choices=("notebook", "tests"), help=argparse.SUPPRESS)
    return parser.parse_args()


def _files(checkout: Path, match: list[str] | None, skip: list[str]) -> list[Path]:
    """Return the files to run: notebooks, test files, and scripts that do work when they are
    run."""
    found = []
    for path in [checkout] if checkout.is_file() else checkout.rglob("*"):
        if path.suffix not in (".py", ".ipynb") or not any(m in str(path) for m in match or [""]):
            continue
        text = path.read_text()
        if not re.search("cutlass|cuda", text) or any(part in text for part in skip):
            continue
        if path.suffix == ".ipynb" or path.name.startswith("test_") or _does_something(text):
            found.append(path)
    return found


def _does_something(text: str) -> bool:
    calls = (n for n in ast.parse(text).body if isinstance(n, ast.Expr))
    return "__main__" in text or any(isinstance(n.value, ast.Call) for n in calls)


def _name(path: Path, asked: argparse.Namespace) -> str:
    root = asked.checkout if asked.checkout.is_dir() else path.parent
    return str(path.relative_to(root))


def _run(path: Path, asked: argparse.Namespace) -> dict:
    """Run a file and return its outcome (right, stopped by forgekit, wrong, or failed with the
    file's own message) and its CPU time."""
    arguments = next((a for part, a in ARGUMENTS.items() if part in str(path)), "")
    arch = "sm_100a" if any(part in str(path) for part in _FOR_BLACKWELL) else "sm_90a"
    inside = [str(path), "--tests", str(asked.tests), "--inside"]
    command = ["run", path.name, *arguments.split()]
    if path.name.startswith("test_") and "__main__" not in path.read_text():
        command = ["run", __file__, *inside, "tests"]
    work: Callable[[], int] = functools.partial(_forgekit, command)
    if path.suffix == ".ipynb":
        notebook = [sys.executable, __file__, *inside, "notebook"]
        work = functools.partial(subprocess.call, notebook)
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        if not (process := os.fork()):
            os.environ.setdefault("FORGEKIT_ARCH", arch)
            os.chdir(path.parent)
            _child(work, output.fileno(), asked.limit_s)
        _, status, used = os.wait4(process, 0)
        output.seek(0)
        ended, why = _ended(os.waitstatus_to_exitcode(status), output.read())
    seconds = round(used.ru_utime + used.ru_stime, 1)
    return {"file": _name(path, asked), "arguments": arguments, "arch": arch, "ended": ended,
            "seconds": seconds, "why": why}  # fmt: skip


def _forgekit(command: list[str]) -> int:
    from forgekit.commands import cli

    return cli.main(command)


def _child(work: Callable[[], int], output: int, limit_s: int) -> None:
    """Run a file in this process, and exit."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = work()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _ended(status: int, output: str) -> tuple[str, str]:
    lines = [line.strip() for line in output.splitlines() if line.strip()] or [""]
    notices = "no GPU here", "sanitizer: ", "this launch takes"
    if -status in (signal.SIGXCPU, signal.SIGKILL):
        return "time", "not through when its time was up"
    said = [x for x in lines if x.startswith("forgekit: ") and not any(n in x for n in notices)]
    if said:
        return "stopped", said[-1][10:300]
    if status in (0, 120):  # 120: the sanitizer reported findings
        wrong = next((line for line in lines if _TAIL.search(line)), "")
        found = next(
            (
                line[10:].partition(".")[0]
                for line in lines
                if line.startswith("forgekit: sanitizer")
            ),
            "",
        )
        return ("wrong", wrong[:200]) if wrong else ("right", found)
    return "failed", lines[-1][:300]


def _notebook(path: Path, _: int) -> int:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, 4)
    first = "import forgekit.vgpu\nforgekit.vgpu.install(cuda=True)"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first))
    try:
        NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    except CellExecutionError as error:
        print(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()[-1])
        return 1
    return 0


def _tests(path: Path, count: int) -> int:
    import pytest

    class Some:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items):
            items[:] = [items[i] for i in sorted({i * len(items) // count for i in range(count)})]

    options = ["-p", "no:cacheprovider", "-q", "--tb=short", "-o", "addopts="]
    return int(pytest.main([*options, str(path)], plugins=[Some()]))


if __name__ == "__main__":
    main()
