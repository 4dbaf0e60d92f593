"""Test fk.profile: its lines, text and views, and the absence of side effects."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

import forgekit as fk
from forgekit.errors import ArgumentMismatchError, MemoryAccessError, UsageError
from forgekit.profiling.gpus import GPUS, gpu_named
from forgekit.profiling.metrics import GLOBAL_KINDS, METRICS, SHARED_KINDS, metric
from forgekit.profiling.profile import Profile
from forgekit.profiling.profiled_lines import ProfiledLine, total
from forgekit.profiling.waste import access_reason
from forgekit.text import size
from forgekit.vgpu import AccessCounts
from forgekit.vgpu.user_lines import SourceLine

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass.cute as cute

from tests.kernels import simple
from tests.profiling import course_kernels as kernels
from tests.profiling.counter_kernels import profile_of


# -- lines, texts, views ----------------------------------------
@pytest.fixture(scope="module")
def naive():
    return profile_of("t_naive")


@pytest.fixture(scope="module")
def tiled():
    return profile_of("t_smem0")


def line_number(text: str) -> int:
    lines = Path(kernels.__file__).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


def test_lines_carry_number_text_and_counts(naive):
    (line,) = naive.filter(line="mY[col, row] = mX[row, col]").lines
    assert line.number == line_number("mY[col, row]")
    assert line.text == "mY[col, row] = mX[row, col]"
    assert line.where == f"course_kernels.py, line {line.number}"
    assert line.global_store_sectors == line["global_store_sectors"] == 81920
    assert line.global_store_sectors_per_request == 32
    assert line.global_store_efficiency == 12.5
    assert line.accesses["global_store"].strides == {1024: 81920 - 10240}
    assert sum(i.warp_instructions for i in line.instructions) == line.warp_instructions
    assert "st.global" in repr(line)


def test_lines_add_up_to_the_total(naive, tiled):
    for p in (naive, tiled):
        for name in ("warp_instructions", "thread_instructions", "global_load_sectors"):
            assert sum(line[name] for line in p.lines) == p[name] == p.total[name]


def test_no_line_is_a_decorator(naive):
    assert naive.lines[0].text.startswith("def t_naive_kernel(")


def test_the_worst_line_and_why(naive, tiled):
    assert naive.worst.line.text == "mY[col, row] = mX[row, col]"
    assert naive.worst.kind == "global_store"
    assert naive.worst.reason == (
        "every warp's store touches 32 sectors where 4 would suffice: neighbouring threads are "
        "1,024 bytes apart"
    )
    assert tiled.worst.reason == (
        "every warp's load takes 32 wavefronts where 1 would suffice: neighbouring threads are "
        "128 bytes apart, so all lanes access one bank"
    )
    assert profile_of("t_smem1").worst is None
    idle = profile_of("uneven_loops").worst
    assert idle.kind == "lanes"
    assert "16.5 of a warp's 32 lanes are active" in idle.reason


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        (
            "copy_f32_from_4",
            "touches 5 sectors where 4 would suffice: the warp's bytes begin inside",
        ),
        ("gather_permuted", "the distances between the lanes' addresses vary"),
        ("red_i32_same", "its lanes access the same address"),
        ("load_stride8", "neighbouring threads are 32 bytes apart"),
    ],
)
def test_reasons(name, cause):
    assert cause in profile_of(name).worst.reason


def test_divergence_is_counted():
    p = profile_of("half_warps")
    assert p.divergent_branches == 16  # one in each warp
    assert 50 < p.thread_efficiency < 100


def test_device_memory_and_its_bound(naive):
    x = naive.tensors["mX"]
    assert (x.read_bytes, x.written_bytes, x.size_bytes) == (327680, 0, 327680)
    assert naive.bytes_touched == 655360
    assert naive.bound_s("H200") == 655360 / 4.8e12
    assert naive.bound_s("l4") == 655360 / 300e9
    with pytest.raises(UsageError, match="H200"):
        naive.bound_s("Voodoo 2")


def test_sort_and_filter(tiled):
    by_sectors = tiled.sort("global_store_sectors").lines
    assert by_sectors[0].global_store_sectors == 10240
    assert tiled.sort("warp_instructions").sort("line").lines == tiled.lines
    assert {line.text for line in tiled.filter(kind="shared").lines} == {
        "sT[ty, tx] = mX[row, col]", "mY[row, col] = sT[tx, ty]",
    }  # fmt: skip
    assert [x.text for x in tiled.filter(at_least={"shared_load_bank_conflicts": 1}).lines] == [
        "mY[row, col] = sT[tx, ty]"
    ]
    number = line_number("sT[ty, tx] = mX[row, col]")
    assert tiled.filter(line="sync_threads()").lines[0].number == number + 1
    assert tiled.filter(line=number).total["warp_instructions"] == tiled.warp_instructions
    assert tiled.filter(line=number).worst is None
    with pytest.raises(UsageError, match="kind"):
        tiled.filter(kind="texture")
    with pytest.raises(UsageError, match="kernel"):
        tiled.filter(kernel="t_naive_kernel")


def test_metrics_have_one_table():
    names = [m.name for m in METRICS]
    assert len(set(names)) == len(names)
    ncu = [m.ncu for m in METRICS if m.ncu]
    assert len(set(ncu)) == len(ncu)
    assert all(m.meaning and m.unit for m in METRICS)
    assert Profile.metrics is METRICS
    assert all(metric(f"{k}_requests") for k in (*GLOBAL_KINDS, *SHARED_KINDS))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("global_load_sector", "global_load_sectors"),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "op_ld.sum"),
        ("smsp__inst_executed.sum", "warp_instructions"),
        ("xyzzy", "Profile.metrics"),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(naive, asked, text):
    with pytest.raises(UsageError, match=re.escape(text)):
        naive[asked]
    with pytest.raises(AttributeError):
        getattr(naive.total, asked)


def test_plain_structures(naive):
    as_dict = naive.to_dict()
    assert json.loads(json.dumps(as_dict)) == as_dict
    assert as_dict["total"]["global_store_sectors"] == 81920
    assert as_dict["launches"][0]["kernel"] == "t_naive_kernel"
    assert as_dict["findings"][0]["line"] == line_number("mY[col, row]")
    assert [t["name"] for t in as_dict["launches"][0]["tensors"]] == ["mX", "mY"]


def test_text_fits_a_terminal_and_marks_the_worst(naive):
    text = repr(naive)
    assert max(map(len, text.splitlines())) <= 100
    (marked,) = [line for line in text.splitlines() if line.startswith(">") and "line" not in line]
    assert "global store" in marked
    assert "32 (4)" in marked
    assert "at least 137 ns on an H200" in text


def test_html_shows_the_same(naive):
    bundle = naive._repr_mimebundle_()
    assert bundle["text/plain"] == repr(naive)
    page = bundle["text/html"]
    assert page.count("<tr") == page.count("</tr>")
    assert "32 sectors (4)" in page
    assert "neighbouring threads are 1,024 bytes apart" in page
    still, _, script = page.partition("<script>")  # the script, which an untrusted notebook removes
    assert "32 sectors for 128 bytes requested, 4 would do" in still and "fkProfile(" in script


# -- the arguments of the run ----------------------------------------
@cute.kernel
def shout_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = mX[tidx] + 1.0
    if tidx == 0:
        cute.printf("here")


@cute.kernel
def halve_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] = mX[tidx] * 0.5


@cute.jit
def two_kernels(mX: cute.Tensor):
    shout_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))
    halve_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))
    halve_kernel(mX).launch(grid=(1, 1, 1), block=(16, 1, 1))


@cute.kernel
def beyond_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx + 1] = mX[tidx]


@cute.jit
def beyond(mX: cute.Tensor):
    beyond_kernel(mX).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.fixture
def several():
    x = fk.arange(32, dtype=torch.float32, device="virtual")
    run = fk.compile(two_kernels, x, device="virtual")
    return run, x


def test_launches_are_kept_apart_and_summed(several):
    p = fk.profile(*several)
    assert [x.kernel for x in p.launches] == ["shout_kernel", "halve_kernel", "halve_kernel"]
    assert [x.block[0] for x in p.launches] == [32, 32, 16]
    assert p.global_load_requests == 3
    assert p.filter(kernel="halve_kernel").global_load_requests == 2
    (line,) = p.filter(line="mX[tidx] * 0.5").lines
    assert line.global_load_bytes_asked == 48 * 4
    assert p.launches[2].thread_efficiency == 50
    assert p.bytes_touched == 256 + 256 + 128
    assert "3 launches" in repr(p)


def test_arguments_and_output_stay_as_they_were(several, capfd):
    run, x = several
    p = fk.profile(run, x)
    assert torch.equal(x, torch.arange(32.0))
    assert capfd.readouterr().out == ""
    x.fill_(7)  # the profile keeps its own copies
    assert torch.equal(p.call[1][0], torch.arange(32.0))


def test_a_kernel_that_fails_says_so():
    x = fk.zeros(32, device="virtual")
    with pytest.raises(MemoryAccessError, match=re.escape("mX[tidx + 1] = mX[tidx]")):
        fk.profile(fk.compile(beyond, x, device="virtual"), x)
    assert not x.any()


def test_nothing_launched():
    x = fk.zeros(0, device="virtual")
    p = Profile("nothing", (), gpu_named("H200"))
    assert "no kernel was launched" in repr(p)
    assert p.worst is None
    assert p.bytes_touched == 0
    assert p._repr_mimebundle_()["text/html"]
    with pytest.raises(UsageError, match=r"fk\.profile"):
        p.show()
    assert x.numel() == 0


def test_wrong_calls_are_refused(several):
    run, x = several
    with pytest.raises(UsageError, match="compile"):
        fk.profile(two_kernels, x)
    with pytest.raises(ArgumentMismatchError):
        fk.profile(run, x.double())
    with pytest.raises(UsageError, match="H200"):
        fk.profile(run, x, gpu="H2000")


def test_without_line_information(monkeypatch):
    """Instructions without a line are grouped under one heading."""
    monkeypatch.setattr("forgekit.vgpu.code.Code.line_at", lambda code, pc: None)
    x, y = fk.randn(64, device="virtual"), fk.empty(64, device="virtual")
    p = fk.profile(fk.compile(simple.copy, x, y, device="virtual"), x, y)
    (line,) = p.lines
    assert line.text == "(no line)"
    assert line.global_load_requests == 2
    assert "(no line)" in repr(p)


def test_gpus_say_where_their_numbers_come_from():
    for gpu in GPUS.values():
        assert gpu.source.startswith("NVIDIA")
        assert 2e11 < gpu.bandwidth < 1e13
        assert gpu.l2_bytes is None or gpu.l2_bytes >= 4 * 1024**2
    assert gpu_named("nvidia h100-sxm").name == "H100 SXM"
    assert gpu_named("RTX4090").rate == "1.01 TB/s"
    devices = {"NVIDIA H200": "H200", "NVIDIA H100 80GB HBM3": "H100 SXM", "Tesla T4": "T4",
               "NVIDIA A100-SXM4-40GB": "A100 40GB", "NVIDIA L4": "L4", "NVIDIA L40S": "L40S",
               "NVIDIA A100-SXM4-80GB": "A100 80GB SXM", "NVIDIA A10G": "A10"}  # fmt: skip
    for device, name in devices.items():
        assert [g.name for g in GPUS.values() if re.search(g.device, device)] == [name]


@pytest.mark.parametrize(
    ("stride", "cause"),
    [
        (8, "8 bytes apart, so all lanes access 16 of the 32 banks"),
        (64, "64 bytes apart, so all lanes access 2 of the 32 banks"),
        (128, "128 bytes apart, so all lanes access one bank"),
        (12, "12 bytes apart"),
    ],
)
def test_banks_that_a_stride_meets(stride, cause):
    a = AccessCounts("shared_load", 4, 1, 128, 2, 1, 2, 2, Counter({stride: 1}))
    assert access_reason(a).endswith(cause)


# -- pictures of its lines --------------------------------------------------------------------
def test_pictures_of_the_worst_line(tiled):
    shown = tiled.show()
    sectors, banks = shown
    assert "32 wavefronts, 1 would do" in repr(banks)
    assert "(100 % used)" in repr(sectors)
    bundle = shown._repr_mimebundle_()
    assert bundle["text/html"].count("<img ") == 2
    assert repr(banks) in bundle["text/plain"]


def test_a_line_by_its_number_text_and_self(tiled):
    line = tiled.worst.line
    wanted = repr(tiled.show())
    assert repr(tiled.show(line.number)) == wanted
    assert repr(tiled.show(line.text)) == wanted
    assert repr(tiled.show(line)) == wanted
    assert repr(tiled.show(line.number, warp=1)) != wanted


def test_lines_without_pictures(tiled):
    quiet = next(x for x in tiled.lines if not x.accesses)
    with pytest.raises(
        UsageError, match=r"line \d+, needed a line of the profile with memory accesses: 35, 39"
    ):
        tiled.show(quiet)
    with pytest.raises(UsageError, match="line: got 1, needed a line of the profile"):
        tiled.show(1)


def test_no_picture_where_nothing_stands_out():
    with pytest.raises(UsageError, match="because none stands out; name one of"):
        profile_of("t_smem1").show()


@pytest.mark.parametrize("name", ["cpasync8ca_random0", "cpasync16cg_random0", "lds64_pairs"])
def test_accesses_cost_what_was_counted(name):
    """A picture's cost equals the count for a warp in a block, and for the load and the store of an
    asynchronous copy."""
    p = profile_of(name)
    lines = {line.source: line for line in p.lines}
    for (source, kind), accesses in p.first_accesses.items():
        if accesses[0].times == len(accesses):
            a = lines[source].accesses[kind]
            assert [sum(n) for n in zip(*(x.cost for x in accesses), strict=True)] == [
                a.units, a.ideal,
            ]  # fmt: skip


def test_two_profiles_as_one_table(naive, tiled):
    shown = naive.compare(tiled)
    lines = str(shown).split("\n")
    assert lines[1].split() == [
        "access",
        "t_naive",
        "(ideal)",
        "moved",
        "t_smem",
        "(ideal)",
        "moved",
    ]
    first = [line.split("  ")[0] for line in lines[2:]]
    assert first == ["global load", "global store", "shared store", "shared load", "all lines"]
    assert f"{naive.total['warp_instructions']:,} PTX instructions" in lines[-1]
    for p in (naive, tiled):
        moved = sum(a.bytes_moved for line in p.lines for a in line.accesses.values())
        assert size(moved) in lines[-1]
    html = shown._repr_mimebundle_()["text/html"]
    assert html.count("<tr") == len(lines) - 1  # a header of two rows


def test_lines_have_one_order_wherever_their_files_are() -> None:
    """In earlier versions, the order of a helper's lines and a notebook cell's lines depended on
    the course's folder."""
    for first, second in (("/a/", "/z/"), ("/z/", "/a/")):
        sources = [SourceLine(first + "cells.py", 7, ""), SourceLine(second + "helpers.py", 2, "")]
        lines = [ProfiledLine(source, total([]), ()) for source in reversed(sources)]
        assert [line.source for line in sorted(lines, key=lambda line: line.key)] == sources
