"""Test bench and sweep: checks, counts, times and texts, including variants that fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from matplotlib.text import Text

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import forgekit as fk
from forgekit import ops
from forgekit.benching import measuring
from forgekit.benching.notebook import bench as module
from forgekit.benching.notebook import results, variants
from forgekit.benching.recorded import recorded
from forgekit.benching.timing import Timing
from forgekit.compiling.backends import Artefacts
from forgekit.devices import Target
from forgekit.errors import CheckError, UsageError
from forgekit.profiling.gpus import GPUS, gpu_named
from tests.vgpu.bench import kernels as vgpu_kernels


@pytest.fixture(autouse=True)
def virtual_gpu() -> Iterator[None]:
    with fk.use_target("virtual", "sm_90a"):
        yield


@pytest.fixture
def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return fk.randn(64, 32), fk.empty(32, 64)


def transposed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.T


def kernels(x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    return {
        "tiled": fk.compile(vgpu_kernels.transpose, x, y),
        "operator": lambda x, y: ops.copy_transpose(x),
        "torch": lambda x, y: x.T.contiguous(),
    }


# -- on the virtual GPU -------------------------------------------------------------------------
def test_counts_beside_each_other(pair: Any) -> None:
    b = fk.bench(kernels(*pair), *pair, reference=transposed)
    assert b.kind == "virtual" and b.checked and not b.failed and b.ceiling_gbps is None
    assert (b.shape, b.dtype, b.moved_bytes) == ((64, 32), "float32", 2 * 64 * 32 * 4)
    alone = measuring.measure(lambda: kernels(*pair)["tiled"](*pair), moved_bytes=b.moved_bytes)
    assert b["tiled"] == alone and b["operator"].counters is not None
    assert b["torch"] == measuring.Measured(b.moved_bytes)
    assert b.date not in repr(b)  # counts do not depend on the date


def test_the_table_says_all(pair: Any) -> None:
    b = fk.bench(kernels(*pair), *pair, reference=transposed)
    text = repr(b)
    assert text.startswith("Counted on the virtual GPU (sm_90a): 64×32 float32, 32×64 float32\n")
    assert [o.name for o in b.outcomes] == ["tiled", "operator", "torch"]
    (row,) = [line for line in text.splitlines() if line.startswith("tiled")]
    assert row.split()[1:6] == ["16.4", "kB", "1.00×", "4.0", "4.0"]
    assert "torch     not counted here" in text
    assert "torch: not counted here, because it launched no kernel on the virtual GPU." in text
    assert "Needed: 16.4 kB (each tensor read or written once)" in text
    assert "Results were compared with a reference." in text
    page = b._repr_mimebundle_()["text/html"]
    assert page.count("<tr") == 4 and 'colspan="8"' in page and "background:#" not in page


def test_a_name_is_text_in_the_page(pair: Any) -> None:
    b = fk.bench({"<b>&": kernels(*pair)["tiled"]}, *pair)
    page = b._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;&amp;" in page and "<b>" not in page
    assert "compared with a reference" not in repr(b)


def test_recorded_times_stand_beside(pair: Any) -> None:
    b = fk.bench(kernels(*pair), *pair, recorded="week0/07_transpose")
    run = recorded("week0/07_transpose")
    assert b.recorded_shape == (8192, 8192) and b.recorded_row("tiled") is None
    assert b.recorded_row("torch") == run.row("torch", "float32")
    text = repr(b)
    assert f"recorded: H200, {run.date}" in text and "1,160 GB/s, 27 %" in text
    assert f"Recorded on an NVIDIA H200, {run.date}: 8192×8192 float32; percentages are" in text
    other = fk.bench({"x": kernels(*pair)["tiled"]}, *pair, recorded=run)
    assert other.recorded_shape is None
    assert "contains none of these variants in float32; its steps are '" in repr(other)
    assert "'padded', 'swizzled'" in repr(other)


def test_the_recorded_shape_is_that_of_the_arguments_if_there_is_one() -> None:
    rows = tuple(recorded("week0/07_transpose").rows[0].__class__("a", s, "float32", 1.0, 1.0)
                 for s in ((8, 8), (64, 32), (512, 512)))  # fmt: skip
    run = recorded("week0/07_transpose")
    run = type(run)(run.gpu, run.date, run.ceiling_gbps, run.versions, rows)
    for n, shape in ((64, (64, 32)), (16, (512, 512))):
        x = fk.randn(n, 32)
        b = fk.bench({"a": lambda x: ops.copy_transpose(x)}, x, recorded=run)
        assert b.recorded_shape == shape


# -- predicted times ----------------------------------------------------------------------------
def test_a_predicted_time_stands_beside_the_counts(pair: Any) -> None:
    b = fk.bench(kernels(*pair), *pair)
    p = b["tiled"].predicted
    assert p is not None and p.us is not None and p.low is not None and p.high is not None
    assert 3 < p.low < p.us < p.high < 20 and b["torch"].predicted is None
    head, row = repr(b).splitlines()[2:4]
    assert head.rstrip().endswith("predicted µs on an H200")
    assert row.rstrip().endswith(f"{p.us:.3g} ({p.low:.3g} to {p.high:.3g})")
    assert "Predicted times are computed from the counts, not measured; nine out of ten" in repr(b)
    assert p.us_text in b._repr_mimebundle_()["text/html"]
    torch_only = fk.bench({"torch": lambda x, y: x.T.contiguous()}, *pair)
    assert "redicted" not in repr(torch_only)


def test_a_withheld_time_is_a_dash_with_its_reason(pair: Any) -> None:
    b = fk.bench(kernels(*pair), *pair)
    p = replace(b["tiled"].predicted, us=None, reasons=("it uses wgmma",))
    first, *others = b.outcomes
    b = replace(b, outcomes=(replace(first, measured=replace(b["tiled"], predicted=p)), *others))
    (row,) = [line for line in repr(b).splitlines() if line.startswith("tiled  ")]
    assert row.rstrip().endswith("–")
    assert "tiled: no prediction, because it uses wgmma." in repr(b)
    far = replace(p, gpu="L4", measured="", us=7.0, low=6.0, high=8.0, reasons=())
    one = replace(b, outcomes=(replace(first, measured=replace(b["tiled"], predicted=far)),))
    assert "predicted µs on an L4" in repr(one) and "7 (6 to 8)" in repr(one)
    assert "Not calibrated: an H200's constants, scaled by the L4's data sheet." in repr(one)


def test_a_sweep_has_a_table_of_predicted_times() -> None:
    s = fk.sweep(kernels, square, [64, 32], axis="N")
    tables = dict(columns for columns in results.sweep_columns(s))
    rows = tables["predicted µs on an H200"].rows
    assert [row[0] for row in rows] == ["32", "64"] and [row[3] for row in rows] == ["–", "–"]
    assert [row[1] for row in rows] == [m.predicted.us_text for m in s.measured("tiled")]


def test_a_prediction_written_down_waits_for_a_profile_s_time(pair: Any, capsys: Any) -> None:
    fk.predict(microseconds=4)
    fk.bench(kernels(*pair), *pair)
    assert capsys.readouterr().out == ""
    fk.profile(kernels(*pair)["tiled"], *pair).time()
    assert "you said 4" in capsys.readouterr().out


# -- bytes to move -----------------------------------------------------------------------
def test_bytes_by_default() -> None:
    x, y = torch.randn(4, 8), torch.empty(8, 4)
    wide = torch.randn(1, 8).expand(4, 8)
    operator = {"a": lambda x, *_: ops.copy_transpose(x)}

    def moved(given: Any, *args: Any, **options: Any) -> int:
        return fk.bench(given, *args, **options).moved_bytes

    assert moved(operator, x) == 2 * 128  # the result is a new tensor, which counts
    assert moved({**operator, "b": lambda x: x.sum(1)}, x) == 2 * 128  # the largest variant counts
    assert moved({"a": lambda x: x.T}, x) == 128  # a view adds no bytes
    into = {"a": lambda x, y: ops.copy_transpose(x), "b": lambda x, y: y.copy_(x.T)}
    assert moved(into, x, y) == 2 * 128
    assert moved({"a": lambda *_: None}, x, x, 3, None) == 128  # the same tensor counts once
    assert moved({"a": lambda *_: None}, wide) == 32  # a dimension with stride 0
    given = fk.bench(operator, x, moved_bytes=77)
    assert given.moved_bytes == 77 == given["a"].moved_bytes and "as given" in repr(given)
    assert moved(operator, x, moved_bytes=lambda x: x.numel()) == 32


# -- checked first ------------------------------------------------------------------------------
def test_wrong_variants_stand_with_the_reason_and_others_go_on(pair: Any) -> None:
    x, y = pair
    b = fk.bench(
        {
            **kernels(x, y),
            "view": transposed,
            "into": lambda x, y: y.copy_(x.T),
            "off": lambda x, y: x.T + 1,
            "lazy": lambda x, y: None,  # y holds the previous variant's result
            "lazy too": lambda x, y: y,
            "raises": lambda x, y: [][0],
        },
        x, y, reference=transposed,
    )  # fmt: skip
    assert list(b.failed) == ["off", "lazy", "lazy too", "raises"]
    assert b.failed["off"] == "wrong result: 2,048 of 2,048 elements differ"
    assert b.failed["raises"] == "failed: IndexError: list index out of range"
    assert "lazy      wrong result: 2,048 of 2,048 elements differ" in repr(b)
    with pytest.raises(UsageError, match="off: got wrong result"):
        b["off"]
    with pytest.raises(UsageError, match="'of', needed one of 'tiled', 'operator'"):
        b["of"]


def test_a_kernel_cannot_live_on_what_was_there(pair: Any) -> None:
    x, y = pair
    y.copy_(x.T)
    half = fk.compile(vgpu_kernels.transpose, x, y)
    b = fk.bench({"ok": half, "none": lambda x, y: None}, x, y, reference=transposed)
    assert list(b.failed) == ["none"] and torch.equal(y, x.T)  # y is restored
    do_nothing = fk.CompiledKernel(half.job, Artefacts(half.ptx), lambda *args: None)
    again = fk.bench({"ok": half, "idle": do_nothing}, x, y, reference=transposed)
    assert list(again.failed) == ["idle"]


def test_tolerances_are_those_of_check(pair: Any) -> None:
    x, y = pair
    near = {"near": lambda x, y: x.T * 1.001}
    with pytest.raises(CheckError):
        fk.bench(near, x, y, reference=transposed)
    assert not fk.bench(near, x, y, reference=x.T, rtol=0.01).failed


def test_what_is_plainly_right_is_found_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "_CHUNK", 3)
    nan, right = float("nan"), variants._plainly_right
    a = torch.tensor([1.0, -2.0, 3.0, 1e9, float("inf")])
    assert right(a, a.clone(), None) and right(a.view(5, 1), a.view(5, 1), None)
    for k in range(5):
        other = a.clone()
        other[k] *= 1 + 1e-4
        assert right(a, other, None) == (k == 4) and right(a, other, 1e-3)
        other[k] = nan
        assert not right(a, other, 1.0)
    assert not right(a, a[:4], None) and not right(a, a.double(), None)
    assert not right(a.to(torch.complex64), a.to(torch.complex64), None)
    assert not right(torch.full((2,), nan), torch.full((2,), nan), None)  # no kernel computed it
    assert not right(torch.tensor([3]), torch.tensor([4]), None)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bool, torch.uint16, torch.bfloat16])
def test_other_dtypes(dtype: torch.dtype) -> None:
    x, y = torch.ones(4, 8).to(dtype), torch.zeros(8, 4).to(dtype)
    both = {"new": lambda x, y: ops.copy_transpose(x), "into": lambda x, y: y.copy_(x.T)}
    assert not fk.bench(both, x, y, reference=transposed).failed


def test_if_nothing_is_left_the_first_error_is_raised(pair: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        fk.bench({"a": lambda *_: 1 / 0, "b": lambda *_: [][0]}, *pair)
    with pytest.raises(fk.ArgumentMismatchError):
        fk.bench({"a": kernels(*pair)["tiled"]}, *pair[::-1], 3)


def test_the_reference_is_kept_apart() -> None:
    x = torch.arange(4.0)

    def spoil(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).clone()

    with pytest.raises(CheckError):
        fk.bench({"a": spoil}, x, reference=lambda x: x)


# -- bad input ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({}, {}, "variants: got none, needed at least one"),
        ([len], {}, "variants: got list, needed a dict from names to functions"),
        ({3: len}, {}, "variant's name: got 3, needed a name"),
        ({" ": len}, {}, "variant's name: got ' '"),
        ({"a": 3}, {}, "variant 'a': got int, needed a compiled kernel or a function"),
        ({"a": len}, {"moved_bytes": 0}, "moved_bytes: got 0, needed a positive integer"),
        ({"a": len}, {"moved_bytes": 1.5}, "moved_bytes: got 1.5"),
        ({"a": len}, {"moved_bytes": lambda x, y: None}, "moved_bytes: got None"),
        ({"a": len}, {"recorded": "no such"}, "recorded run: got 'no such', needed one of week0"),
        ({"a": len}, {"recorded": 3}, "recorded: got 3, needed a Recorded or its name"),
        ({"a": len}, {"reference": lambda x, y: None}, "a function that returns None"),
        ({"a": len}, {"rtol": -1}, "rtol: got -1, needed a number of 0 or more"),
        ({"a": len}, {"atol": float("nan")}, "atol: got nan"),
        ({"a": len}, {"atol": "1e-3"}, "atol: got '1e-3'"),
        ({"a": len}, {"repeats": 0}, "repeats: got 0, needed a whole number of 1 or more"),
    ],
)
def test_bad_input(pair: Any, given: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        fk.bench(given, *pair, **options)


def test_a_result_to_compare_is_needed() -> None:
    with pytest.raises(UsageError, match="variant 'a': got no result, needed a tensor"):
        fk.bench({"a": lambda: None}, reference=torch.ones(1))


def test_tensors_have_to_be_where_kernels_run() -> None:
    here, there = Target("virtual", "sm_90a", "virtual GPU"), Target("gpu", "sm_90a", "NVIDIA H200")
    x, scalar = torch.ones(2), torch.tensor(1.0)
    variants.check_places([x, scalar], here)
    variants.check_places([scalar], there)
    with pytest.raises(
        UsageError, match="got a tensor on cpu, needed a tensor for NVIDIA H200; create"
    ):
        variants.check_places([scalar, x], there)
    with pytest.raises(UsageError, match="got a tensor on meta"):
        fk.bench({"a": lambda x: x}, x.to("meta"))


# -- sweeps -------------------------------------------------------------------------------------
def square(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    return fk.randn(n, n), fk.empty(n, n)


def test_a_sweep_over_sizes() -> None:
    s = fk.sweep(kernels, square, [64, 32], reference=transposed, axis="N of N×N")
    assert s.sizes == (32, 64) and s.names == ("tiled", "operator", "torch") and s.kind == "virtual"
    assert s[64].shape == (64, 64) and s[32].checked
    counts = [m.counters for m in s.measured("tiled") if m is not None]
    assert [c.load_requests for c in counts if c is not None] == [32, 128]
    text = repr(s)
    assert text.startswith("Counted on the virtual GPU (sm_90a): 2 sizes, float32, moving 8.19")
    assert text.count("N of N×N  tiled  operator  torch") == 5
    assert "sectors per store (32 bytes each)\n" in text and "torch: not counted here" in text
    page = s._repr_mimebundle_()["text/html"]
    assert page.count("<table") == 6 and page.count("<tr") == 18
    with pytest.raises(UsageError, match="size: got 7, needed one of 32, 64"):
        s[7]


def test_a_picture_of_a_sweep_names_what_it_shows() -> None:
    operator = {"torch": lambda x: x.T.contiguous(), "operator": lambda x: ops.copy_transpose(x)}
    s = fk.sweep(operator, lambda n: fk.randn(n, n), [31, 32, 100, 256])
    figure = s.plot().figure
    names = [t.get_text() for t in figure.findobj(Text) if t.get_gid() == "name"]
    assert names == ["operator"] and "torch: not counted here" in repr(s)
    shown = [t.get_text() for t in figure.axes[1].get_xticklabels()]
    assert shown == ["", "32", "", "256"]  # some labels are omitted: 31 would overlap 32


def test_a_sweep_over_shapes_where_something_fails() -> None:
    def late(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 8:
            raise MemoryError("too large")
        return ops.copy_transpose(x)

    s = fk.sweep({"a": ops.copy_transpose, "b": late}, lambda s: torch.ones(s),
                 [(64, 2), (4, 8), (16, 4)])  # fmt: skip
    assert s.sizes == ((4, 8), (16, 4), (64, 2))
    assert [m is None for m in s.measured("b")] == [False, True, True]
    assert "b (at 16×4 and 1 other size): failed: MemoryError: too large" in repr(s)


@pytest.mark.parametrize(
    ("sizes", "options", "words"),
    [
        ([], {}, r"sizes: got \[\], needed a list of sizes"),
        (4, {}, "sizes: got 4"),
        ([4, 0], {}, "sizes: got 0, needed positive integers"),
        ([4.0], {}, "sizes: got 4.0"),
        ([4], {"moved_bytes": 4}, "moved_bytes: got 'int', needed a function of the arguments"),
        ([4], {"reference": torch.ones(1)}, "reference: got 'Tensor', needed a function"),
        ([4], {"bogus": 1}, "unexpected keyword argument 'bogus'; write bench"),
        ([4], {"make": 4}, "make_arguments: got 4, needed a function"),
    ],
)
def test_bad_sweeps(sizes: Any, options: dict[str, Any], words: str) -> None:
    make = options.pop("make", square)
    with pytest.raises(UsageError, match=words):
        fk.sweep({"a": len}, make, sizes, **options)


# -- on a simulated GPU ------------------------------------------------------------------------
@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Simulate a GPU: a call's time is the first element of its result, in milliseconds."""
    seen: list[str] = []

    def time_gpu(call: Any, *, repeats: int) -> Timing:
        ms = float(call().reshape(-1)[0])
        seen.append(f"timed {repeats}")
        return Timing(ms, 0.9 * ms, 1.2 * ms)

    target = Target("gpu", "sm_90a", "NVIDIA H200")
    for place in (measuring, module):
        monkeypatch.setattr(place, "current_target", lambda: target)
    monkeypatch.setattr(measuring, "time_gpu", time_gpu)
    monkeypatch.setattr(module, "_ceiling", lambda: 4000.0)
    monkeypatch.setattr(module, "check_places", lambda tensors, target: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: seen.append("checked"))
    return seen


def test_times_beside_the_ceiling(gpu: list[str]) -> None:
    x = torch.full((1000, 1000), 0.004)
    both = {"one": lambda x: x + 0, "two": lambda x: x * 1, "off": lambda x: 2 * x}
    b = fk.bench(both, x, reference=lambda x: x, repeats=9)
    assert gpu == ["checked", "timed 9", "checked", "timed 9", "checked"]  # "off" is not timed
    assert b.kind == "gpu" and b["one"].gbps() == pytest.approx(2000) and list(b.failed) == ["off"]
    text = repr(b)
    assert text.startswith(f"NVIDIA H200, {b.date}: 1000×1000 float32\n")
    assert "one  0.0040         0.0036 to 0.0048  2,000              50 %" in text
    assert "Ceiling: 4,000 GB/s, the rate of a device-to-device copy in the" in text


def test_a_sweep_of_times(gpu: list[str]) -> None:
    s = fk.sweep({"a": lambda x: x + 0}, lambda n: torch.full((n,), 1.0), [2**20, 2**22])
    assert "% of the ceiling\n" in repr(s) and "GB/s\n" in repr(s)
    assert "not counted" not in repr(s)


def test_a_kernel_for_the_other_place_is_refused(gpu: list[str], pair: Any) -> None:
    x, y = pair
    run = fk.compile(vgpu_kernels.transpose, x, y, device="virtual")
    b = fk.bench({"run": run, "ok": lambda x, y: x.T + 0}, x, y)
    assert (
        "got a kernel for virtual GPU (sm_90a), needed a kernel for NVIDIA H200" in b.failed["run"]
    )


# -- constants ------------------------------------------------------------------------------------
def test_every_gpu_of_the_table_has_peaks() -> None:
    for gpu in GPUS.values():
        issued = gpu.instruction_peak
        assert issued is not None
        clock = issued / (128 * gpu.multiprocessors)  # the implied clock, in Hz
        assert 1.3e9 < clock < 2.6e9, gpu.name
    h200 = gpu_named("H200")
    assert (h200.fp32_peak, h200.instruction_peak) == (67e12, 33.5e12)
    assert replace(h200, fp32_peak=None).instruction_peak is None
