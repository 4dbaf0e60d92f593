"""The command line: what is called, what is printed, which exit status."""

import json
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from forgekit import course
from forgekit.commands import doctor, lab
from forgekit.commands.cli import main
from forgekit.devices import Machine, Target
from forgekit.errors import ForgekitError

ROOT = Path(__file__).resolve().parents[2]
NO_GPU = Machine(
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


def changed(machine: Machine, **changes: object) -> Machine:
    return Machine(**{**vars(machine), **changes})


def test_help_waits_for_no_library():
    """What takes seconds to import is imported by the command that needs it."""
    command = """import atexit, sys
from forgekit.commands.cli import main
heavy = {"torch", "cutlass", "numpy", "matplotlib"}
atexit.register(lambda: print(heavy & set(sys.modules)))  # --help exits
main(["--help"])"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert "build-notebooks" in done.stdout
    assert done.stdout.endswith("set()\n"), done.stdout[-200:]


def test_version_is_the_package_s(capsys):
    assert main(["--version"]) == 0
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert capsys.readouterr().out == f"forgekit {project['version']}\n"


def test_no_command_prints_the_help(capsys):
    assert main([]) == 0
    assert "usage: forgekit" in capsys.readouterr().out


def test_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["no-such-thing"])
    assert "invalid choice" in capsys.readouterr().err


def test_own_errors_are_one_message_and_no_traceback(monkeypatch, capsys):
    def fail(**_):
        raise ForgekitError("got 1, needed 2; use 2")

    monkeypatch.setattr(doctor, "main", fail)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "forgekit: got 1, needed 2; use 2\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_disk_is_told_once():
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


def test_a_terminal_that_lacks_letters_gets_others(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "forgekit", "run", "--device", "virtual", "script.py"],
        cwd=_written(tmp_path, "print('3 × 4')"),
        env=dict(os.environ, PYTHONIOENCODING="ascii"),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "3 ? 4\n")


def test_weeks_are_what_pytest_collects():
    pytest_options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    assert pytest_options["ini_options"]["testpaths"] == ["tests", *course.WEEKS]


# --- lab


@pytest.fixture
def started(monkeypatch):
    """What would have replaced this process: (command, folder)."""
    calls = []
    monkeypatch.setattr(lab, "_replace_process", lambda *call: calls.append(call))
    return calls


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like the course, with a first notebook."""
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
    assert "without the course" in capsys.readouterr().err


def test_lab_without_jupyterlab_names_the_remedy(started, monkeypatch, capsys):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab"]) == 1
    assert not started
    error = capsys.readouterr().err
    assert error.startswith("forgekit: JupyterLab is not installed")
    assert "uv run forgekit lab" in error


# --- doctor


@pytest.fixture
def on_machine(monkeypatch):
    """Make doctor see the given machine, and its check succeed on the given devices."""

    def arrange(machine: Machine, works: tuple[str, ...] = ("gpu", "virtual")) -> None:
        monkeypatch.setattr(doctor, "gpu_report", lambda: machine)
        monkeypatch.setattr(doctor, "try_kernel", lambda device: (device in works, "told"))

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
        ({"torch": None}, (), 1, "PyTorch       not installed"),
        ({"dsl": None}, (), 1, "CuTe DSL      not installed"),
        ({"os": "Darwin 24 arm64"}, (), 1, "WSL2"),
        ({"driver": "580.1"}, ("virtual",), 0, "this PyTorch is built for the CPU"),
        ({"driver": "580.1", "torch_cuda": "13.0"}, ("virtual",), 0, "PyTorch finds no GPU"),
        ({"target": None, "target_problem": "no such arch"}, (), 1, "no such arch"),
        ({}, (), 1, "failed (told)"),
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


def test_doctor_prints_findings_before_the_slow_check():
    code = """
import os
from forgekit.commands import doctor
doctor.try_kernel = lambda device: (os.write(1, b"the check begins\\n") > 0, "told")
doctor.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    before, after = done.stdout.split("the check begins\n")
    assert before.startswith("system        ") and "compiled for" in before
    assert after.startswith("check         told\n")


def test_doctor_s_names_fit_their_column(on_machine):
    on_machine(NO_GPU)
    assert max(len(finding.name) for finding in doctor.examine()) == doctor.NAME_WIDTH


def test_doctor_runs_a_real_kernel_here():
    done = subprocess.run(
        [sys.executable, "-m", "forgekit", "doctor"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a kernel compiled and ran in" in done.stdout


def test_doctor_does_not_import_what_is_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "cuda.py").write_text("raise ImportError('not the real one')\n")
    (tmp_path / "torch.py").write_text("raise ImportError('not the real one')\n")
    monkeypatch.chdir(tmp_path)
    assert doctor.try_kernel("virtual")[0]


# --- run


def _written(folder: Path, text: str) -> Path:
    (folder / "script.py").write_text(textwrap.dedent(text))
    return folder


def run_script(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder = _written(tmp_path, text)
    command = [sys.executable, "-m", "forgekit", "run", "--device", "virtual", "script.py"]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)


def test_run_is_like_python(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    done = run_script(
        tmp_path,
        """
        import sys
        from beside import VALUE
        print(__name__, VALUE, sys.argv)
        sys.exit(3)
        """,
        "--fast",
        "x",
    )
    assert done.stdout == "__main__ 7 ['script.py', '--fast', 'x']\n"
    assert done.returncode == 3


def test_run_executes_kernels_that_know_nothing_of_forgekit(tmp_path):
    done = run_script(
        tmp_path,
        """
        import cutlass.cute as cute
        import torch
        from cutlass.cute.runtime import from_dlpack

        @cute.kernel
        def double_kernel(mX: cute.Tensor):
            tidx, _, _ = cute.arch.thread_idx()
            mX[tidx] = mX[tidx] * 2.0

        @cute.jit
        def double(mX: cute.Tensor):
            double_kernel(mX).launch(grid=(1, 1, 1), block=(4, 1, 1))

        x = torch.arange(4, dtype=torch.float32)
        double(from_dlpack(x))
        print(x.tolist())
        """,
    )
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n", done.stderr


def test_run_shows_an_exception_from_the_script_s_line_on(tmp_path):
    done = run_script(tmp_path, "def f():\n    return 1 / 0\n\nf()\n")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "line 4" in done.stderr
    assert "forgekit" not in done.stderr


def test_run_says_what_a_kernel_did_wrong_and_where(tmp_path):
    done = run_script(
        tmp_path,
        """
        import cutlass.cute as cute
        import torch
        from cutlass.cute.runtime import from_dlpack

        @cute.kernel
        def fill_kernel(mX: cute.Tensor):
            tidx, _, _ = cute.arch.thread_idx()
            mX[tidx] = 1.0

        @cute.jit
        def fill(mX: cute.Tensor):
            fill_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))

        fill(from_dlpack(torch.zeros(4)))
        """,
    )
    assert done.returncode == 1
    assert "forgekit: Out of bounds: script.py, line 9: mX[tidx] = 1.0" in done.stderr
    assert "script.py, line 15: fill(" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "refusal",
    [
        'AssertionError("Torch not compiled with CUDA enabled")',
        'RuntimeError("No CUDA GPUs are available")',
        'RuntimeError("Found no NVIDIA driver on your system. Please check")',
    ],
)
def test_run_names_the_remedy_for_tensors_on_a_gpu_that_is_not_there(tmp_path, refusal):
    done = run_script(tmp_path, f"def make(device):\n    raise {refusal}\n\nx = make('cuda')\n")
    assert done.returncode == 1
    assert "the virtual GPU works on CPU tensors" in done.stderr
    assert '`device = "cuda" if torch.cuda.is_available() else "cpu"`' in done.stderr
    assert "script.py, line 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_shows_other_assertions_as_they_are(tmp_path):
    done = run_script(tmp_path, "assert 1 == 2, 'arithmetic'\n")
    assert "AssertionError: arithmetic" in done.stderr and "virtual GPU" not in done.stderr


def test_run_shows_a_syntax_error_as_python_does(tmp_path):
    done = run_script(tmp_path, "x = = 1\n")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "forgekit" not in done.stderr


def test_run_without_a_script(capsys):
    assert main(["run", "nowhere.py"]) == 2
    assert capsys.readouterr().err.startswith("forgekit: got nowhere.py")
