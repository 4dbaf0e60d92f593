"""Test `forgekit profile ncu|nsys -- …` and `forgekit sanitize -- …` end to end, with stand-ins for
the tools."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from forgekit.commands.cli import main
from forgekit.profiling.nvidia import tools

SAYS = ["sh", "-c", "echo the program speaks"]
FAILS = ["sh", "-c", "exit 7"]


def argv(fakes, call: int = 0) -> list[str]:
    return fakes.calls[call]["argv"]


# --- profile ncu


def test_ncu(fakes, capfd):
    fakes.behave(record=["FORGEKIT_DEVICE"])
    assert main(["profile", "ncu", "--", *SAYS]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("the program speaks\n")
    assert "naive_kernel  17.8 µs   235     5      4.0     32.0" in out
    report = Path(out.split("report: ")[1].split(" (")[0])
    assert report.is_file() and report.suffix == ".ncu-rep"
    [call] = fakes.calls
    assert call["environment"] == {"FORGEKIT_DEVICE": "gpu"}  # although this test sets virtual
    assert call["argv"][-3:] == SAYS
    assert "regex:kernel_cutlass" in call["argv"]
    assert err == ""


def test_ncu_of_chosen_launches(fakes, capfd, tmp_path):
    out = tmp_path / "kept"
    (tmp_path / "kept.ncu-rep").write_text("of yesterday")
    words = ["--kernel", "tile_", "--skip", "1", "--count", "1", "--out", str(out)]
    assert main(["profile", "ncu", *words, "--", *SAYS]) == 0
    said = capfd.readouterr().out
    assert "tile_kernel" in said and "naive_kernel" not in said and "1 launch," in said
    assert f"report: {out}.ncu-rep" in said
    assert (tmp_path / "kept.ncu-rep").read_text().startswith("report of ncu")
    assert not list(tmp_path.glob("forgekit-ncu-*"))


def test_a_folder_of_the_report_s_name_is_refused(fakes, capfd, tmp_path):
    (tmp_path / "r.ncu-rep").mkdir()
    assert main(["profile", "ncu", "--out", str(tmp_path / "r"), "--", *SAYS]) == 2
    assert f"--out: got {tmp_path / 'r.ncu-rep'}, a folder" in capfd.readouterr().err
    assert fakes.calls == []


def test_a_report_that_cannot_be_moved_is_not_lost(fakes, capfd, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.move", fail)
    assert main(["profile", "ncu", "--out", str(tmp_path / "r"), "--", *SAYS]) == 2
    err = capfd.readouterr().err
    assert f"--out: got {tmp_path / 'r.ncu-rep'} (No space left on device)" in err
    assert Path(err.strip().rpartition("; find the report at ")[2]).is_file()


def test_ncu_as_json(fakes, capfd):
    assert main(["profile", "ncu", "--json", "--", *SAYS]) == 0
    out, err = capfd.readouterr()
    printed = json.loads(out)
    assert err == "the program speaks\n"
    assert (printed["tool"], printed["command"]) == ("ncu", SAYS)
    assert [k["function"] for k in printed["kernels"]] == ["naive_kernel", "tile_kernel"]
    assert printed["kernels"][0]["duration_ns"] == 17840
    assert Path(printed["report"]).is_file()


def test_ncu_of_other_metrics(fakes, capfd):
    assert main(["profile", "ncu", "--metrics", "dram__bytes_read.sum, ", "--", *SAYS]) == 0
    assert "dram__bytes_read.sum  4,198,912" in capfd.readouterr().out
    line = argv(fakes)
    assert line[line.index("--metrics") + 1] == "gpu__time_duration.sum,dram__bytes_read.sum"


def test_ncu_without_such_a_kernel(fakes, capfd, tmp_path):
    (tmp_path / "r.ncu-rep").write_text("of yesterday")
    words = ["--kernel", "softmax", "--out", str(tmp_path / "r")]
    assert main(["profile", "ncu", *words, "--", *SAYS]) == 2
    assert "launched kernels: naive_kernel, tile_kernel, needed" in capfd.readouterr().err
    assert (tmp_path / "r.ncu-rep").read_text() == "of yesterday"


# --- profile nsys


def test_nsys(fakes, capfd, tmp_path):
    fakes.behave(record=["FORGEKIT_DEVICE"])
    out = tmp_path / "kept.nsys-rep"
    assert main(["profile", "nsys", "--out", str(out), "--", *SAYS]) == 0
    said = capfd.readouterr().out
    assert "naive_kernel                                            4  71.4 µs" in said
    assert (
        "cudaMalloc                 2   131 ms" in said and "The program copied no data.\n" in said
    )
    assert "cudaLaunchKernelExC       10  1.04 ms  4.44 µs   0.8" in said
    assert max(map(len, said.partition("report: ")[0].splitlines())) <= 100
    assert f"report: {out} (`nsys-ui` opens it" in said
    assert out.read_text() == "report of nsys\n" and not list(tmp_path.rglob("*.sqlite"))
    assert fakes.calls[0]["environment"] == {"FORGEKIT_DEVICE": "gpu"}
    assert {"--trace=cuda,nvtx", "--cuda-graph-trace=node"} <= set(argv(fakes))


def test_nsys_as_json(fakes, capfd, tmp_path):
    assert main(["profile", "nsys", "--json", "--", *SAYS]) == 0
    printed = json.loads(capfd.readouterr().out)
    naive, tile, fill = printed["kernels"]  # naive comes second in the text
    assert (naive["function"], tile["function"]) == ("naive_kernel", "tile_kernel")
    assert list(naive.values())[2:] == [4, 71360, 17744, 58.0]
    assert "FillFunctor<float>, std::array" in fill["name"]  # commas in quotes
    assert [row["name"] for row in printed["api"]] == ["cudaMalloc", "cudaLaunchKernelExC"]
    assert printed["memory"] == []
    assert Path(printed["report"]).is_file() and not list(tmp_path.rglob("*.sqlite"))


# --- sanitize


def test_sanitize(fakes, capfd):
    fakes.behave(
        memcheck="memcheck.txt",
        racecheck="racecheck.txt",
        initcheck="initcheck.txt",
        record=["FORGEKIT_DEVICE", "PYTORCH_NO_CUDA_MEMORY_CACHING"],
    )
    assert main(["sanitize", "--", *SAYS]) == 1
    out = capfd.readouterr().out
    assert (
        "tool       errors  first error\n"
        "memcheck       28  Invalid __global__ read of size 4 bytes\n"
        "                   kernels.py, line 177 in overhang_kernel\n"
        "racecheck       1  Race reported\n"
        "                   kernels.py, line 191 in race_shared_kernel\n"
        "initcheck     256  Uninitialized __global__ memory read of size 4 bytes\n"
        "                   kernels.py, line 220 in unset_global_0\n"
        "synccheck       0\n"
    ) in out
    logs = Path(out.split("full logs: ")[1].strip())
    assert "ERROR SUMMARY: 28 errors" in (logs / "memcheck.txt").read_text()
    ran = [call["argv"][call["argv"].index("--tool") + 1] for call in fakes.calls]
    assert ran == ["memcheck", "racecheck", "initcheck", "synccheck"]
    alone = [call["environment"]["PYTORCH_NO_CUDA_MEMORY_CACHING"] for call in fakes.calls]
    assert alone == ["1", None, "1", None]
    assert {call["environment"]["FORGEKIT_DEVICE"] for call in fakes.calls} == {"gpu"}


def test_sanitize_finds_nothing(fakes, capfd, tmp_path):
    assert main(["sanitize", "--tool", "synccheck,memcheck", "--", *SAYS]) == 0
    out = capfd.readouterr().out
    assert "synccheck       0\nmemcheck        0\n" in out and "full logs" not in out
    assert not list(tmp_path.glob("forgekit-sanitizer-*"))
    assert len(fakes.calls) == 2


def test_sanitize_as_json(fakes, capfd):
    fakes.behave(racecheck="racecheck.txt")
    assert main(["sanitize", "--json", "--tool=racecheck", "--", *SAYS]) == 1
    out, err = capfd.readouterr()
    printed = json.loads(out)
    [result] = printed["results"]
    assert (result["tool"], result["errors"], result["line"]) == ("racecheck", 1, 191)
    assert "the program speaks" in err and Path(printed["logs"], "racecheck.txt").is_file()


def test_sanitize_with_an_unknown_tool(fakes, capfd):
    assert main(["sanitize", "--tool", "memcheck,leakcheck", "--", *SAYS]) == 2
    assert "--tool: got leakcheck, needed some of memcheck" in capfd.readouterr().err
    assert fakes.calls == []


# --- failures

NCU, NSYS, MEMCHECK = ["profile", "ncu"], ["profile", "nsys"], ["sanitize", "--tool", "memcheck"]
NO_PERMISSION = {"log": ["==ERROR== ERR_NVGPUCTRPERM - The user does not"], "report": False}


@pytest.mark.parametrize(
    ("changes", "words", "status", "printed", "said"),
    [
        *(({"exit": code}, [*NCU, "--", *FAILS], 7, "naive_kernel",
           "^forgekit: sh ended with exit status 7\n$") for code in (7, 1, 0)),
        ({"exit": 5}, [*NCU, "--", *SAYS], 5, "naive_kernel",
         "^forgekit: ncu ended with exit status 5\n$"),
        ({}, [*NCU, "--kernel", "softmax", "--", *FAILS], 7, "",
         "no kernel was measured\n.*ended with exit status 7"),
        (NO_PERMISSION, [*NCU, "--", *SAYS], 1, "",
         "forgekit: ncu: got ERR_NVGPUCTRPERM.* use fk.profile"),
        ({}, [*NCU, "--metrics", "dram__bytes_read.sum,no__such.sum", "--", *SAYS], 2,
         "4,198,912",  # the measurements are not lost
         "--metrics: got no__such.sum, needed ncu's metric names"),
        ({}, [*NSYS, "--", *FAILS], 7, "naive_kernel", "ended with exit status 7"),
        ({"report": False}, [*NSYS, "--", *SAYS], 1, "", "nsys wrote no report"),
        ({"memcheck": "memcheck.txt"}, [*MEMCHECK, "--", *FAILS], 7, "memcheck      28",
         "exit status 7 under memcheck"),
        ({"memcheck": "========= Error: Device not supported\n"}, [*MEMCHECK, "--", *SAYS], 1, "",
         "memcheck ended with exit status 0: Error: Device not supp"),
    ],
)  # fmt: skip
def test_a_failure_is_passed_on_with_what_was_measured(
    fakes, capfd, changes, words, status, printed, said
):
    fakes.behave(**changes)
    assert main(words) == status
    out, err = capfd.readouterr()
    assert printed in out and re.search(said, err)


# --- wrong calls


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["profile", "ncu"], "`forgekit profile ncu -- python my_program.py`"),
        (["profile", "ncu", "--"], "`forgekit profile ncu -- python my_program.py`"),
        (["profile", "ncu", "x.py", "-n", "3"], "`forgekit profile ncu -- python x.py -n 3`"),
        (["profile", "nsys", "python", "x.py"], "`forgekit profile nsys -- python x.py`"),
        (["profile", "nsys", "x.py", "--", "3"], "`forgekit profile nsys -- python x.py 3`"),
        (["profile", "ncu", "--", "x.py", "3"], "`forgekit profile ncu -- python x.py 3`"),
        (["profile", "--json", "ncu", "--", "x"], "options after `forgekit profile ncu`"),
        (["sanitize", "--"], "`forgekit sanitize -- python my_program.py`"),
        (
            ["sanitize", "--tool", "memcheck", "x.py", "--json"],
            "`forgekit sanitize --tool memcheck -- python x.py --json`",
        ),
        (["sanitize", "--json", "x.py"], "`forgekit sanitize --json -- python x.py`"),
        (["sanitize", "--tool", "memcheck"], "sanitize --tool memcheck -- python my_program.py`"),
        (["sanitize", "--seed", "3", "--", "x"], "got --seed, needed any of --tool, --json, "),
        (["sanitize", "--", "x.py"], "`forgekit sanitize -- python x.py`"),
        (
            ["profile", "ncu", "--", "no-such-program"],
            "got 'no-such-program', which is not a program",
        ),
    ],
)
def test_a_wrong_call_is_answered_with_the_right_one(fakes, capfd, words, remedy):
    assert main(words) == 2
    error = capfd.readouterr().err
    assert remedy in error and error.startswith("forgekit: ") and ": got " in error
    assert fakes.calls == []


def test_why_two_dashes_are_needed(fakes, capfd):
    main(["sanitize", "--tool", "memcheck", "python", "x.py"])
    assert "without `--`, `forgekit sanitize SCRIPT` runs a script on the virtual GPU" in (
        capfd.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernel", "a(b"], "--kernel: got 'a(b', needed a regular expression"),
        (["--out", "no/such/folder/r"], "--out: got no/such/folder/r"),
        (["--out", "/tmp"], "--out: got /tmp, a folder"),
        (["--out", "/proc/x"], "--out: got /proc/x.ncu-rep (No such file or directory)"),
        (["--skip", "-1"], "--skip: got -1, needed 0 or more"),
        (["--count", "0"], "--count: got 0, needed 1 or more"),
    ],
)
def test_wrong_values(fakes, capfd, words, said):
    assert main(["profile", "ncu", *words, "--", *SAYS]) == 2
    assert said in capfd.readouterr().err
    assert fakes.calls == []


def test_unknown_options_and_help(fakes, capfd):
    assert main(["profile", "ncu", "--frob", "--", *SAYS]) == 2
    assert main(["profile", "ncu", "--help"]) == 0
    out, err = capfd.readouterr()
    assert "Usage: forgekit profile ncu [OPTIONS] -- COMMAND" in out and "--kernel REGEX" in out
    assert err.startswith("forgekit: profile ncu: got --frob, needed any of --out, --json, ")
    assert fakes.calls == []


# --- missing tools


@pytest.mark.parametrize(
    ("words", "tool", "instead"),
    [
        (["profile", "ncu"], tools.NCU, "`forgekit profile SCRIPT` or fk.profile"),
        (["profile", "nsys"], tools.NSYS, "torch.profiler"),
        (["sanitize"], tools.SANITIZER, "`forgekit sanitize SCRIPT` or fk.sanitize"),
    ],
)
def test_what_is_missing_is_named(words, tool, instead, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(tools, "gpu_count", lambda: 0)
    monkeypatch.setattr(tools.glob, "glob", lambda pattern: [])
    assert main([*words, "--", sys.executable]) == 1
    error = capfd.readouterr().err
    assert f"got no {tool.name} on PATH or in " in error and "and no NVIDIA GPU" in error
    assert f"install {tool.product}: it is part of the CUDA toolkit" in error
    assert f"or use {instead}" in error


def test_only_the_gpu_is_missing(fakes, monkeypatch, capfd):
    monkeypatch.setattr(tools, "gpu_count", lambda: 0)
    assert main(["profile", "ncu", "--", *SAYS]) == 1
    error = capfd.readouterr().err
    assert "ncu: got no NVIDIA GPU, needed" in error and "install" not in error
    assert fakes.calls == []


def test_a_tool_off_the_path_is_found(fakes, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("PATH", os.environ["PATH"].split(os.pathsep, 1)[1])
    for version in ("2024.3.2", "2025.10.1", "2025.9.1"):
        (tmp_path / "opt" / version).mkdir(parents=True)
    fakes.folder.joinpath("ncu").rename(tmp_path / "opt" / "2025.10.1" / "ncu")
    (tmp_path / "opt" / "2025.9.1" / "ncu").symlink_to("/bin/false")
    tool = tools.Tool("ncu", "p", (f"{tmp_path}/none/*", f"{tmp_path}/opt/*"), "i", "j")
    assert tools.find(tool) == str(tmp_path / "opt" / "2025.10.1" / "ncu")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "bin" / "ncu").symlink_to("/bin/false")
    assert tools.find(tool) == str(tmp_path / "bin" / "ncu")


def test_gpus_are_counted_by_the_driver():
    import torch

    assert tools.gpu_count() == torch.cuda.device_count()
