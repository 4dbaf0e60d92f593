"""Test the command line: the function that it calls, the output, and the exit status."""

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from forgekit import course
from forgekit.commands import doctor, lab
from forgekit.commands.cli import COMMANDS, main
from forgekit.devices import GpuReport, Target
from forgekit.errors import ForgekitError

ROOT = Path(__file__).resolve().parents[2]
NO_GPU = GpuReport(
    gpu=None,
    driver=None,
    torch="2.13.0+cpu",
    torch_cuda=None,
    dsl="4.8.1",
    target=Target("virtual", "sm_90a", "virtual GPU (sm_90a)"),
    target_problem=None,
    disassembler=None,
    python="3.11.7",
    os="Linux 6.1 x86_64",
)


def changed(machine: GpuReport, **changes: object) -> GpuReport:
    return GpuReport(**{**vars(machine), **changes})


def test_help_waits_for_no_library():
    """Check that --help imports no slow package."""
    command = """import sys
from forgekit.commands.cli import COMMANDS, main
for name in COMMANDS:
    main([name, "--help"] if name != "lab" else [])
heavy = {"torch", "cutlass", "numpy", "matplotlib", "jupytext", "nbclient", "tqdm"}
print(heavy & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert "build-notebooks" in done.stdout
    assert done.stdout.endswith("set()\n"), done.stdout[-200:]


def test_version_is_the_package_s(capsys):
    assert main(["--version"]) == 0
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert capsys.readouterr().out == f"forgekit {project['version']}\n"


def test_no_command_prints_the_help(capsys):
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert "Usage: forgekit" in listed and main(["-h"]) == 0
    assert capsys.readouterr().out == listed
    assert re.findall(r"^  ([a-z-]+)  +[A-Z]", listed, flags=re.MULTILINE) == list(COMMANDS)
    assert "..." not in listed.partition("Commands:")[2]  # no sentence is truncated


CALLS = [[name] for name in COMMANDS if name != "lab"] + [
    ["profile", "ncu"], ["profile", "nsys"], ["sanitize", "--tool", "memcheck"]
]  # fmt: skip


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_every_option_says_what_it_is(words, capsys):
    assert main([*words, "--help"]) == 0
    usage, _, options = capsys.readouterr().out.partition("\nOptions:\n")
    assert usage.startswith(f"Usage: forgekit {' '.join(words[:2]).partition(' --')[0]} ")
    assert re.findall(r"^  -\S.*", options, flags=re.MULTILINE)
    assert re.findall(r"^  -\S+(?: \S+)?$", options, flags=re.MULTILINE) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], f"the command: got 'nope', needed one of {', '.join(COMMANDS)}; see "
         "`forgekit --help`"),
        (["--frob"], "the command: got --frob, needed any of --version, --help; see "
         "`forgekit --help`"),
        (["doctor", "--frob"], "doctor: got --frob, needed any of --json, --help; see "
         "`forgekit doctor --help`"),
        (["doctor", "-j"], "doctor: got -j, needed any of --json, --help; see "
         "`forgekit doctor --help`"),
        (["doctor", "--json=3"], "--json: got a value, needed none; see `forgekit doctor --help`"),
        (["doctor", "x"], "doctor: got unexpected extra argument (x), needed none; see "
         "`forgekit doctor --help`"),
        (["run"], "run: got no SCRIPT, needed one; see `forgekit run --help`"),
        (["run", "--device"], "--device: got no value, needed one; see `forgekit run --help`"),
        (["bench", "--repeats", "many"], "--repeats: got 'many', needed 1 or more; leave it out"),
        (["bench", "--re", "1"], "bench: got --re, needed any of --suite, --op, --dtype, "),
        (["sanitize", "--seed", "-1", "x.py"], "--seed: got -1, needed 0 or more; choose another"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_a_usage_error(words, said, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(f"forgekit: {said}")


def test_options_may_be_shortened(on_machine, capsys):
    on_machine(NO_GPU)
    assert main(["doctor", "--js"]) == 0
    assert json.loads(capsys.readouterr().out)["can_run"]
    assert main(["--vers"]) == 0
    assert main(["bench", "--rep=0"]) == 2
    assert capsys.readouterr().err.startswith("forgekit: --repeats: got 0")


def test_own_errors_are_one_message_and_no_traceback(monkeypatch, capsys):
    def fail():
        raise ForgekitError("got 1, needed 2; use 2")

    monkeypatch.setattr(doctor, "examine", fail)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "forgekit: got 1, needed 2; use 2\n"


def test_ctrl_c(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "examine", interrupted)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "forgekit: interrupted\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_reported_once():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "forgekit", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "forgekit: [Errno 28] No space left on device\n"


def test_a_reader_who_has_gone_ends_it_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "forgekit", "--version"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_weeks_are_what_pytest_collects():
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    assert pytest_options["ini_options"]["testpaths"] == [*course.WEEKS, "tests"]


# --- lab


@pytest.fixture
def started(monkeypatch):
    """Return a list of the calls that would have replaced this process, as (command, folder)."""
    calls = []
    monkeypatch.setattr(lab, "_replace_process", lambda *call: calls.append(call))
    return calls


@pytest.fixture
def checkout(tmp_path):
    """Create a folder that looks like the course, with a first notebook."""
    first = tmp_path / course.FIRST_NOTEBOOK
    first.parent.mkdir()
    first.write_text("{}")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_lab_opens_the_first_notebook_from_any_folder_below(started, checkout, monkeypatch):
    monkeypatch.chdir(checkout / course.WEEKS[0])
    assert main(["lab"]) == 0
    [(command, folder)] = started
    assert folder == checkout
    assert f"--ServerApp.root_dir={checkout}" in command
    assert f"--LabApp.default_url=/lab/tree/{course.FIRST_NOTEBOOK}" in command


def test_lab_hands_options_on(started, checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    options = ["--no-browser", "--port", "9999", "--ServerApp.token=abc", "--help"]
    assert main(["lab", *options]) == 0
    assert started[0][0][-len(options) :] == options


def test_lab_without_the_course_opens_the_current_folder(started, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab, "find_course", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert main(["lab"]) == 0
    assert started[0][1] == tmp_path
    assert not any("default_url" in word for word in started[0][0])
    assert "no course folder found" in capsys.readouterr().err


def test_lab_without_jupyterlab_names_the_remedy(started, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["lab"]) == 1
    assert not started
    error = capsys.readouterr().err
    assert error.startswith("forgekit: JupyterLab is not installed")
    assert "uv run forgekit lab" in error


# --- doctor


@pytest.fixture
def on_machine(monkeypatch):
    """Return a function that makes doctor see the given machine, with a check that succeeds on the
    given devices."""

    def arrange(machine: GpuReport, works: tuple[str, ...] = ("gpu", "virtual")) -> None:
        monkeypatch.setattr("forgekit.devices.gpu_report", lambda: machine)
        monkeypatch.setattr(doctor, "try_kernel", lambda device: (device in works, "outcome"))

    return arrange


def test_doctor_without_a_gpu_is_content(on_machine, capsys):
    on_machine(NO_GPU)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "no CUDA driver found: kernels run on the virtual GPU" in out
    assert "run on the virtual GPU, compiled for sm_90a" in out


@pytest.mark.parametrize(
    ("changes", "works", "status", "expected"),
    [
        ({"torch": None}, ("virtual",), 1, "PyTorch       not installed"),
        ({"dsl": None}, ("virtual",), 1, "CuTe DSL      not installed"),
        ({"os": "Darwin 24 arm64"}, ("virtual",), 1, "WSL2"),
        ({"driver": "580.1"}, ("virtual",), 0, "this PyTorch is built for the CPU"),
        ({"driver": "580.1", "torch_cuda": "13.0"}, ("virtual",), 0, "PyTorch finds no GPU"),
        ({"target": None, "target_problem": "no such arch"}, (), 1, "no such arch"),
        ({}, (), 1, "failed (outcome)"),
        ({"target": Target("gpu", "sm_90a", "H200")}, ("gpu",), 0, "run on the H200"),
        ({"target": Target("gpu", "sm_90a", "H200")}, ("virtual",), 0, "FORGEKIT_DEVICE=virtual"),
        ({"target": Target("gpu", "sm_90a", "H200")}, (), 1, "No kernel can run here"),
    ],
)
def test_doctor_fails_only_where_nothing_can_run(
    on_machine, capsys, changes, works, status, expected
):
    on_machine(changed(NO_GPU, **changes), works)
    assert main(["doctor"]) == status
    assert expected in capsys.readouterr().out


def test_doctor_as_json(on_machine, capsys):
    on_machine(NO_GPU)
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["can_run"] is True
    assert {"name", "value", "remedy", "fatal"} == set(report["findings"][0])


def test_doctor_prints_findings_before_the_slow_check(on_machine, monkeypatch):
    on_machine(NO_GPU)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    seen = []
    monkeypatch.setattr(doctor, "try_kernel", lambda device: (seen.append(written.getvalue()), ""))
    main(["doctor"])
    assert seen[0].startswith(b"system        ") and seen[0].endswith(b"compiled for sm_90a\n")


def test_doctor_s_names_fit_their_column(on_machine):
    on_machine(NO_GPU)
    assert max(len(finding.name) for finding in doctor.examine()) == doctor.NAME_WIDTH


def test_doctor_runs_a_real_kernel_here(tmp_path, monkeypatch, capsys):
    """Check that the kernel's process imports no file from the current folder."""
    for name in ("cuda", "torch"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not the real one')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    assert "a kernel compiled and ran in" in capsys.readouterr().out
