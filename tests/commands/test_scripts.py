"""`forgekit sanitize` and `forgekit profile` of scripts that end early, or launch nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from forgekit.commands.cli import main

KERNEL = """
import sys
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def copy_kernel(mX: cute.Tensor, mY: cute.Tensor, i: cute.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx + i]

@cute.jit
def copy(mX: cute.Tensor, mY: cute.Tensor, i: cute.Int32):
    copy_kernel(mX, mY, i).launch(grid=(1, 1, 1), block=(32, 1, 1))

x, y = from_dlpack(torch.ones(100)), from_dlpack(torch.zeros(32))
"""
Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Writes a script; what running it changes in this process is put back."""
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")

    def write(text: str) -> str:
        (tmp_path / "script.py").write_text(text)
        return str(tmp_path / "script.py")

    return write


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("before", ["", "copy(x, y, 0)\n"])
def test_sanitize_does_not_call_a_kernel_clean_that_was_stopped(
    before: str, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sanitize", script(f"{KERNEL}{before}copy(x, y, 69)\n")]) == 1
    said = capsys.readouterr()
    assert "Out of bounds: script.py, line 10" in said.err
    assert said.out.splitlines()[-1] == (
        "sanitizer: stopped by the error above, 0 findings, 0 notes before; the rest was not "
        "looked at"
    )


def test_sanitize_says_where_a_script_ended(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sanitize", script(f"{KERNEL}copy(x, y, 0)\nsys.exit(3)\n")]) == 3
    told = "sanitizer: 0 findings, 0 notes before the script ended with status 3"
    assert last_line(capsys) == told
    assert main(["sanitize", script(f"{KERNEL}copy(x, y, 0)\n")]) == 0
    assert last_line(capsys) == "sanitizer: 0 findings, 0 notes"


@pytest.mark.parametrize("command", ["sanitize", "profile"])
@pytest.mark.parametrize("text", ["x = = 1", "1 / 0", "import sys; sys.exit('bye')"])
def test_a_script_that_fails_before_any_kernel(
    text: str, command: str, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, script(text)]) == 1
    said = capsys.readouterr()
    assert said.out == "script.py launched no kernel before it ended with status 1.\n"
    assert (said.err == "bye\n") == ("bye" in text)


@pytest.mark.parametrize("command", ["sanitize", "profile"])
def test_a_script_without_a_kernel(
    command: str, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, script("x = 1")]) == 0
    assert capsys.readouterr().out == "script.py launched no kernel.\n"


def test_profile_shows_what_was_launched_before_a_script_failed(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", script(f"{KERNEL}copy(x, y, 0)\nsys.exit(3)\n")]) == 3
    printed = capsys.readouterr().out
    assert "mY[tidx] = mX[tidx + i]" in printed
    assert printed.endswith("These were launched before script.py ended with status 3.\n")
    assert main(["profile", script(f"{KERNEL}copy(x, y, 0)\ncopy(x, y, 69)\n")]) == 1
    assert last_line(capsys).endswith("its last launch may be counted in part.")


def test_profile_as_json_is_nothing_but_json(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{KERNEL}print('hello')\ncopy(x, y, 0)\nsys.exit('bye')\n"
    assert main(["profile", "--json", script(text)]) == 1
    said = capsys.readouterr()
    assert list(json.loads(said.out)) == ["copy_kernel"] and said.err == "hello\nbye\n"


# --- remedies that fit the command


def test_an_unknown_gpu_is_told_of_the_option(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--gpu", "Bogus", script("x = 1")]) == 2
    error = capsys.readouterr().err
    assert "--gpu: got 'Bogus', needed one of B200" in error and error.endswith("; choose one\n")


def test_a_device_is_told_of_the_option(
    script: Script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    file = script("x = 1")
    for device, status in (("gpu", 1), ("quantum", 2)):
        assert main(["run", "--device", device, file]) == status
        error = capsys.readouterr().err
        assert error.startswith("forgekit: --device: got ") and "FORGEKIT_DEVICE" not in error
        assert "; write --device virtual for the virtual GPU" in error
    monkeypatch.setenv("FORGEKIT_ARCH", "sm_12")
    assert main(["run", "--device", "virtual", file]) == 2
    assert capsys.readouterr().err.startswith("forgekit: FORGEKIT_ARCH: got 'sm_12'")


@pytest.mark.parametrize("command", ["run", "profile", "sanitize"])
def test_only_the_script_is_missing_and_help_says_what_a_command_does(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command])
    assert capsys.readouterr().err.endswith("arguments are required: script\n")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert "\nRun a CuTe DSL script" in capsys.readouterr().out


RACE = """
import forgekit as fk, sys
import cutlass.cute as cute

@cute.kernel
def racy_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx // 64] = mX[tidx]

@cute.jit
def racy(mX: cute.Tensor, mY: cute.Tensor):
    racy_kernel(mX, mY).launch(grid=(1, 1, 1), block=(64, 1, 1))

x, y = fk.randn(64, device="virtual"), fk.zeros(1, device="virtual")
run = fk.compile(racy, x, y, device="virtual")
"""


@pytest.mark.parametrize("call", ["fk.profile(run, x, y)", "fk.bench({'racy': lambda: run(x, y)})"])
def test_sanitize_looks_inside_what_listens_itself(
    call: str, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sanitize", script(f"{RACE}{call}\n")]) == 1
    assert last_line(capsys).startswith("sanitizer: 1 finding")


def test_profile_says_what_counts_for_itself(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["profile", script(f"{RACE}fk.profile(run, x, y)\n")])
    assert "launched kernels only inside of fk.profile" in last_line(capsys)


def test_a_script_may_close_what_it_prints_to(script: Script) -> None:
    """And a pipe that nobody reads any more is no error of the script."""
    closes = script("import sys\nprint('hi')\nsys.stdout.close()\n")
    command = [sys.executable, "-m", "forgekit", "run"]
    done = subprocess.run([*command, closes], capture_output=True, text=True)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "hi\n", False)
    loud = shlex.join([*command, script("for i in range(100_000): print(i)\n")])
    piped = f"set -o pipefail; {loud} | head -1"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (141, "0\n", "")
