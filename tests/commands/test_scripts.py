"""Test `forgekit run`, `sanitize` and `profile` of scripts, including scripts that end early."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import torch

import forgekit.vgpu
from forgekit.commands.cli import main
from forgekit.cuda.device import say_once
from forgekit.profiling.predicting.constants import as_toml, calibration
from tests.commands.conftest import Script

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


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


# --- run


def run(script: Script, text: str, *arguments: str) -> int:
    return main(["run", "--device", "virtual", script(text), *arguments])


def test_run_is_like_python(script, tmp_path, capsys):
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    text = "import sys\nfrom beside import VALUE\nprint(__name__, VALUE, sys.argv)\nsys.exit(3)\n"
    assert run(script, text, "--device", "x", "--", "-h") == 3
    said = "__main__ 7 ['script.py', '--device', 'x', '--', '-h']\n"
    assert capsys.readouterr().out == said


def test_a_traceback_has_no_frames_of_the_virtual_gpus_own_hooks(script, capsys):
    text = KERNEL.replace("mY[tidx]", "mY[cute.unknown]")
    assert run(script, f"{text}copy(x, y, 1)\n") == 1
    said = capsys.readouterr().err
    assert said.count("script.py") == 3 and "hooks.py" not in said


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("copy(x, y, cute.make_fragment((4,), cute.Float32))", "cute.make_rmem_tensor("),
        ("from cutlass.cute import make_fragment", "cute.make_rmem_tensor("),
        ("from cutlass.base_dsl._mlir_helpers import arith", "Use cutlass._mlir_helpers"),
        ("import cutlass.utils.ampere_helpers", "cutlass.memory.SmemAllocator"),
    ],
)
def test_names_of_older_versions_come_with_the_new_one(script, capsys, line, new):
    assert run(script, f"{KERNEL}{line}\n") == 1
    said = capsys.readouterr().err.partition("forgekit: ")[2]
    assert "no longer exists in CuTe DSL; scripts for older versions still use it. " in said
    assert new in said


def test_a_name_that_no_version_had_has_no_hint(script, capsys):
    assert run(script, "import cutlass.nowhere\n") == 1
    assert "forgekit: " not in capsys.readouterr().err.partition("Traceback")[2]


def test_run_executes_kernels_that_know_nothing_of_forgekit(script):
    """Run the script in a separate process; a pipe without a reader is not an error of the
    script."""
    text = """
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
        for _ in range(100_000):
            print(x.tolist())
        """
    command = [sys.executable, "-m", "forgekit", "run", "--device", "virtual", script(text)]
    piped = f"set -o pipefail; {shlex.join(command)} | head -1"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[0.0, 2.0, 4.0, 6.0]\n", "")
    assert done.returncode == 141


def test_run_says_what_a_kernel_did_wrong_and_where(script, capsys):
    assert run(script, f"{KERNEL}copy(x, y, 69)\n") == 1
    error = capsys.readouterr().err
    assert "forgekit: Out of bounds: script.py, line 10: mY[tidx] = mX[tidx + i]" in error
    assert "script.py, line 17: copy(" in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f():\n    return 1 / 0\n\nf()\n", ("ZeroDivisionError", "line 4")),
        ("assert 1 == 2, 'arithmetic'\n", ("AssertionError: arithmetic",)),
        ("x = = 1\n", ("SyntaxError",)),
    ],
)
def test_run_shows_an_exception_as_python_does_from_the_script_s_line_on(
    text, said, script, capsys
):
    assert run(script, text) == 1
    error = capsys.readouterr().err
    assert all(words in error for words in said)
    assert "forgekit" not in error and "virtual GPU" not in error


@pytest.mark.parametrize(
    "refusal",
    [
        'AssertionError("Torch not compiled with CUDA enabled")',
        'RuntimeError("No CUDA GPUs are available")',
        'RuntimeError("Found no NVIDIA driver on your system. Please check")',
    ],
)
def test_run_names_the_remedy_for_tensors_on_a_gpu_that_is_not_there(refusal, script, capsys):
    assert run(script, f"def make(device):\n    raise {refusal}\n\nx = make('cuda')\n") == 1
    error = capsys.readouterr().err
    assert 'leave out --no-cuda, so that "cuda" means the virtual GPU' in error
    assert '`device = "cuda" if torch.cuda.is_available() else "cpu"`' in error
    assert "script.py, line 2" in error and "Traceback" not in error


FOR_A_GPU = """
import torch
assert torch.cuda.is_available()
x, y = (from_dlpack(torch.ones(n, device="cuda")) for n in (100, 32))
copy(x, y, 0)
print(torch.ones(2, device="cuda").device)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a real GPU")
@pytest.mark.parametrize("command", ["run", "profile", "sanitize"])
def test_a_script_for_a_gpu_finds_the_virtual_one(command, script, capsys):
    name = script(KERNEL + FOR_A_GPU)
    assert main([command, name]) == 0
    assert "cuda:0" in capsys.readouterr().out
    forgekit.vgpu.uninstall()
    assert main([command, "--no-cuda", name]) == 1
    assert "assert torch.cuda.is_available()" in capsys.readouterr().err


def test_what_cuda_means_is_said_once_and_only_where_it_is_used(script, capsys):
    say_once.cache_clear()
    assert run(script, "import torch\ntorch.ones(2)\n") == 0
    assert capsys.readouterr().err == ""
    text = 'import torch\nx = torch.ones(2, device="cuda")\ny = x.cpu().cuda()\n'
    assert run(script, text) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        'forgekit: this machine has no GPU, so "cuda" is the virtual GPU (sm_90a)'
    )


def test_a_script_s_annotations_are_its_own(script):
    """Check annotations through `cute.struct`, which rejects strings."""
    assert run(script, "class A:\n    x: int\nassert A.__annotations__['x'] is int\n") == 0


def test_run_without_a_script(capsys):
    assert main(["run", "nowhere.py"]) == 2
    assert capsys.readouterr().err.startswith("forgekit: got nowhere.py")


def test_a_terminal_that_lacks_letters_gets_others(script, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert run(script, "print('3 × 4')") == 0
    assert written.getvalue() == b"3 ? 4\n"


def test_a_script_may_close_what_it_prints_to(script, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    assert run(script, "import sys\nprint('hi')\nsys.stdout.close()\n") == 0
    assert capfd.readouterr().err == ""


# --- sanitize, profile


@pytest.mark.parametrize("before", ["", "copy(x, y, 0)\n"])
def test_sanitize_does_not_call_a_kernel_clean_that_was_stopped(before, script, capsys):
    assert main(["sanitize", script(f"{KERNEL}{before}copy(x, y, 69)\n")]) == 1
    said = capsys.readouterr()
    assert "Out of bounds: script.py, line 10" in said.err
    assert said.out.splitlines()[-1] == (
        "sanitizer: stopped by the error above, after 0 findings, 0 notes; later code is unchecked"
    )


def test_sanitize_says_where_a_script_ended(script, capsys):
    assert main(["sanitize", script(f"{KERNEL}copy(x, y, 0)\nsys.exit(3)\n")]) == 3
    said = "sanitizer: 0 findings, 0 notes before the script ended with status 3"
    assert last_line(capsys) == said
    assert main(["sanitize", script(f"{KERNEL}copy(x, y, 0)\n")]) == 0
    assert last_line(capsys) == "sanitizer: 0 findings, 0 notes"


@pytest.mark.parametrize("command", ["sanitize", "profile"])
@pytest.mark.parametrize("text", ["x = = 1", "1 / 0", "import sys; sys.exit('bye')"])
def test_a_script_that_fails_before_any_kernel(text, command, script, capsys):
    assert main([command, script(text)]) == 1
    said = capsys.readouterr()
    assert said.out == "script.py launched no kernel before it ended with status 1.\n"
    assert (said.err == "bye\n") == ("bye" in text)


@pytest.mark.parametrize("command", ["sanitize", "profile"])
def test_a_script_without_a_kernel(command, script, capsys):
    assert main([command, script("x = 1")]) == 0
    assert capsys.readouterr().out == "script.py launched no kernel.\n"


def test_profile_shows_what_was_launched_before_a_script_failed(script, capsys):
    assert main(["profile", script(f"{KERNEL}copy(x, y, 0)\nsys.exit(3)\n")]) == 3
    printed = capsys.readouterr().out
    assert "mY[tidx] = mX[tidx + i]" in printed
    assert printed.endswith("These kernels were launched before script.py ended with status 3.\n")
    assert main(["profile", script(f"{KERNEL}copy(x, y, 0)\ncopy(x, y, 69)\n")]) == 1
    assert last_line(capsys).endswith("its last launch may be counted only partly.")


def test_profile_adds_the_launches_of_a_kernel_up(script, capsys):
    assert main(["profile", script(f"{KERNEL}copy(x, y, 0)\ncopy(x, y, 1)\n")]) == 0
    assert "script.py: 2 launches: copy_kernel × 2" in capsys.readouterr().out


def test_profile_as_json_is_nothing_but_json(script, capsys):
    text = f"{KERNEL}print('hello')\ncopy(x, y, 0)\ncopy(x, y, 1)\nsys.exit('bye')\n"
    assert main(["profile", "--json", "--gpu", "L4", script(text)]) == 1
    said = capsys.readouterr()
    [(kernel, found)] = json.loads(said.out).items()
    assert (kernel, found["gpu"], said.err) == ("copy_kernel", "L4", "hello\nbye\n")
    assert found["total"]["global_load_requests"] == 2


MANY = KERNEL.replace("tidx, _, _ = cute.arch.thread_idx()", """bidx, _, _ = cute.arch.block_idx()
    tidx = cute.arch.thread_idx()[0] + bidx * 32""").replace(
    "grid=(1, 1, 1)", "grid=(cute.size(mY) // 32, 1, 1)"
)  # fmt: skip
MANY += "x, y = from_dlpack(torch.ones(40_000)), from_dlpack(z := torch.zeros(32_000))\n"


def test_profile_of_a_sample_says_what_ran(script, capsys):
    text = f"{MANY}copy(x, y, 0)\ncopy(x, y, 0)\nassert (z == 1).all()\n"
    assert main(["profile", "--blocks", "64", script(text)]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "--blocks 64: 2 of 2 launches ran in part: the first and last blocks, one block" in printed
    )
    assert "are therefore incomplete; do not trust them or any comparison with them" in printed
    assert "128 of 2,000 blocks of 2 launches ran: the first, the last and one from each" in printed
    assert "counts are estimates; two halves of the sample differ by 0.0 %" in printed
    assert "ended with status 1, perhaps because it compared incomplete results." in printed
    assert "global load 2,000" in printed and "predicted" not in printed


def test_profile_of_a_sample_that_is_all_says_so(script, capsys):
    assert main(["profile", "--blocks", "64", script(f"{KERNEL}copy(x, y, 0)\n")]) == 0
    printed = capsys.readouterr().out
    assert (
        "--blocks 64: every launch ran in full, because no launch has many more blocks." in printed
    )
    assert "estimates" not in printed
    assert main(["profile", "--blocks", "7", script("x = 1")]) == 2
    said = "--blocks: got 7, needed 8 or more; leave it out to run all"
    assert said in capsys.readouterr().err


def test_profile_predicts_the_time_on_the_gpu_named(script, capsys, tmp_path):
    text = f"{MANY}copy(x, y, 0)\ncopy(x, y, 0)\n"
    assert main(["profile", "--gpu", "h200", script(text)]) == 0
    printed = capsys.readouterr().out
    assert "copy_kernel, 2 launches: predicted " in printed and "registers" not in printed
    assert " on an H200 (" in printed and "not calibrated" not in printed
    own = tmp_path / "own.toml"
    own.write_text(as_toml(calibration("H200")).replace("start_us = 3.7", "start_us = 100"))
    assert main(["profile", "--gpu", str(own), "--blocks", "64", "--json", script(text)]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)["copy_kernel"]
    assert found["gpu"] == "H200" and 100 < found["predicted"]["predicted_us"] < 120
    assert [x["sample"]["blocks"] for x in found["launches"]] == [64, 64]
    assert "incomplete" in said.err and found["predicted"]["sampled"]
    assert main(["profile", "--gpu", "none.toml", script(text)]) == 2
    assert capsys.readouterr().err.startswith("forgekit: --gpu: got 'none.toml' (No such file")


@pytest.mark.parametrize("options", [[], ["--blocks", "8"]])
def test_profile_predicts_no_time_of_a_launch_that_was_stopped(options, script, capsys):
    text = f"{MANY}copy(x, y, 0)\ncopy(x, y, 9000)\n"
    assert main(["profile", "--gpu", "L4", *options, script(text)]) == 1
    printed = capsys.readouterr().out
    assert printed.endswith("may be counted only partly. No time is predicted.\n")
    assert "predicted " not in printed and "global load" in printed


@pytest.mark.parametrize(
    "words", [["sanitize", "--seed", "3", "S", "--tool", "x"], ["sanitize", "S", "--json", "y"],
              ["profile", "S", "ncu"]],
)  # fmt: skip
def test_what_stands_behind_a_script_is_its_own(words, script, capsys):
    name = script("import sys\nprint(sys.argv[1:])\n")
    at = words.index("S")
    assert main([*words[:at], name, *words[at + 1 :]]) == 0
    assert str(words[at + 1 :]) in capsys.readouterr().out


# --- remedies that fit the command


def test_an_unknown_gpu_is_refused_by_the_option_s_name(script, capsys):
    assert main(["profile", "--gpu", "Bogus", script("x = 1")]) == 2
    error = capsys.readouterr().err
    assert "--gpu: got 'Bogus', needed one of B200" in error and error.endswith("; choose one\n")


def test_a_device_is_refused_by_the_option_s_name(script, capsys, monkeypatch):
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


THREAD = "import threading; t = threading.Thread(target=run, args=(x, y)); t.start(); t.join()"
INSTALLED = f"""{RACE}
import os, threading, forgekit.vgpu
forgekit.vgpu.install(cuda=True)
"""
FORKED = "os.fork() or run(x, y); os.wait()"  # the child has no child to wait for


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("run(x, y)", 63),
        ("run(x, y); run(x, y)", 126),
        (THREAD, 63),
        ("fk.profile(run, x, y)", 63),
        ("run(x, y); fk.profile(run, x, y); fk.sanitize(run, x, y)", 126),
        ("run(x, y); fk.vgpu.uninstall()", 63),
    ],
)
def test_run_goes_on_after_a_finding_and_prints_it_once(calls, count, script, capsys):
    assert run(script, f"{RACE}{calls}\nprint('done')\n") == 120
    said = capsys.readouterr()
    assert said.out.endswith("done\n")
    assert said.err.count("Race in global memory: script.py, line 8") == 1
    assert f"(×{count})" in said.err and "forgekit: sanitizer: 1 finding. " in said.err
    assert run(script, "print('next')") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("end", "status", "also"),
    [
        ("sys.exit(5)", 5, ""),
        ("sys.exit(0)", 120, ""),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise KeyboardInterrupt", 130, "forgekit: interrupted"),
    ],
)
def test_run_prints_findings_however_the_script_ends(end, status, also, script, capsys):
    assert run(script, f"{RACE}run(x, y)\n{end}\n") == status
    error = capsys.readouterr().err
    assert error.count("Race in global memory") == 1 and also in error


def test_run_stops_at_what_cannot_go_on_and_prints_what_was_found_before(script, capsys):
    calls = "racy(x, y)\ncopy(x, y, 69)\nprint('done')\n"
    text = KERNEL.replace("torch.ones(100)", "torch.arange(100.0)") + RACE.partition("x, y =")[0]
    assert run(script, f"{text}{calls}") == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.index("Out of bounds") < said.err.index("Race in global")


def test_run_strict_stops_at_the_first_finding(script, capsys):
    name = script(f"{RACE}run(x, y)\nprint('done')\n")
    assert main(["run", "--device", "virtual", "--strict", name]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("forgekit: Race in global memory")
    assert "sanitizer: " not in said.err
    assert main(["run", "--device", "virtual", "--strict", script(f"{INSTALLED}run(x, y)\n")]) == 1
    text = INSTALLED.replace("cuda=True", "cuda=True, strict=True")
    assert run(script, f"{text}run(x, y)\n") == 1


@pytest.mark.parametrize("off", ["environment", "options"])
def test_run_has_no_findings_where_the_script_switches_the_sanitizer_off(
    off, script, capsys, monkeypatch
):
    call = "run(x, y)"
    if off == "environment":
        monkeypatch.setenv("FORGEKIT_SANITIZER", "off")
    else:
        call = "import forgekit.vgpu\nwith forgekit.vgpu.options(sanitize=False): run(x, y)"
    assert run(script, f"{RACE}{call}\n") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a real GPU")
@pytest.mark.parametrize(
    ("calls", "status", "raised"),
    [
        (f"{THREAD}; run(x, y); forgekit.vgpu.install(); run(x, y); {FORKED}", 120, 1),
        ("run(x, y); 1 / 0", 1, 1),
    ],
)
def test_a_script_that_installs_goes_on_after_a_finding(calls, status, raised, script):
    name = script(f"{INSTALLED}{calls}\nprint('done')\n")
    done = subprocess.run([sys.executable, name], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("Traceback")) == (status, raised)
    assert done.stderr.count("Race in global memory") == 1 + ("fork" in calls)
    assert done.stderr.count("sanitizer: 1 finding.") == 1
    assert done.stdout == "done\n" * (status == 120)


@pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a real GPU")
def test_a_notebook_prints_findings_below_their_cell(script):
    cells = [INSTALLED, "run(x, y)", "print('next')"]
    name = script(f"""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for cell in {cells!r}:
            shell.run_cell(cell)
            print("end of cell", file=__import__("sys").stderr)
        """)
    done = subprocess.run([sys.executable, name], capture_output=True, text=True)
    assert done.stdout == "next\n"
    first, second, third, rest = done.stderr.split("end of cell")
    assert second.count("Race in global memory") == 1
    assert "Race" not in first + third + rest


def test_sanitize_reports_a_race_of_two_launches_once(script, capsys):
    assert main(["sanitize", script(f"{RACE}run(x, y)\nrun(x, y)\nprint('done')\n")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("done\n") and out.endswith("sanitizer: 1 finding, 0 notes\n")
    assert out.count("Race in global memory: script.py, line 8") == 1 and "(×126)" in out


def test_sanitize_knows_its_schedules(script, capsys):
    assert main(["sanitize", "--schedule", "nasty", script("x = 1")]) == 2
    assert "--schedule: got nasty, needed one of default, adversarial" in capsys.readouterr().err


@pytest.mark.parametrize("call", ["fk.profile(run, x, y)", "fk.bench({'racy': lambda: run(x, y)})"])
def test_sanitize_looks_inside_what_listens_itself(call, script, capsys):
    assert main(["sanitize", script(f"{RACE}{call}\n")]) == 1
    assert last_line(capsys).startswith("sanitizer: 1 finding")


def test_profile_says_what_counts_for_itself(script, capsys):
    main(["profile", script(f"{RACE}fk.profile(run, x, y)\n")])
    assert "launched kernels only inside fk.profile" in last_line(capsys)
