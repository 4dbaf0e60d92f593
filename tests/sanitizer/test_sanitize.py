"""Test fk.sanitize, the error of an ordinary run, and adversarial schedules in check()."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass
from cutlass import Float32, cute
from cutlass.cute.nvgpu import cpasync

import forgekit as fk
import forgekit.vgpu
from forgekit.errors import CheckError, SanitizerError, UsageError
from forgekit.vgpu.memory import fresh
from tests.kernels import simple
from tests.sanitizer import bank, order_kernels
from tests.sanitizer.bank import compile_correct
from tests.sanitizer.kernel_parts import smem

pytestmark = pytest.mark.usefixtures("on_the_virtual_gpu")

MUTANTS = {p.name: p for p in bank.planted()}
FAMILIES = {f.name: f for f in bank.families()}


def mutant(name):
    args = MUTANTS[name].args()
    return MUTANTS[name].compile(args), args


# -- an ordinary run ----------------------------------------------------------------------------
def test_an_ordinary_run_raises_and_leaves_the_result():
    run, (x, y) = mutant("transpose_without_barrier")
    with pytest.raises(SanitizerError) as caught:
        run(x, y)
    (finding,) = caught.value.findings
    assert finding.kind == "shared-race"
    assert fk.check(y, x.T)
    text = str(caught.value)
    assert text.startswith("Race in shared memory: tiles.py, line ")
    assert "reads shared memory, byte" in text
    assert "cute.arch.sync_threads()" in text


def test_a_run_without_it_leaves_the_result_of_the_usual_order():
    run, (x, y) = mutant("transpose_without_barrier")
    with forgekit.vgpu.options(sanitize=False):
        run(x, y)
    assert fk.check(y, x.T)


def test_notes_do_not_raise():
    run, args = mutant(next(n for n, p in MUTANTS.items() if p.bug.kinds[0] == "unwritten-output"))
    run(*args)


@cute.jit
def _storing_nothing(mX: cute.Tensor, mY: cute.Tensor):
    _nothing_kernel(mX, mY).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def _nothing_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx > mX.shape[0]:
        mY[tidx] = mX[tidx]


def test_results_that_are_never_written_do_not_differ_between_orders():
    args = torch.ones(32), fk.empty(32, device="virtual")
    run = fk.compile(_storing_nothing, *args, device="virtual")
    report = fk.sanitize(run, *args, schedule="adversarial", seeds=1)
    assert [f.kind for f in report.findings] == ["unwritten-output"] and not report.differences


@pytest.mark.parametrize("name", ["bulk_store_leaves", "tensor_store_leaves"])
def test_a_store_that_a_leaving_block_does_not_wait_for_is_a_note(name):
    """An H200 keeps shared memory until the copy has read it, but PTX does not guarantee this."""
    run, args = mutant(name)
    run(*args)
    assert fk.check(args[-1], MUTANTS[name].family.want(*args))
    report = fk.sanitize(run, *args)
    (note,) = report.findings
    assert (note.kind, note.severity) == ("block-lifetime", "note") and report
    assert "cp_async_bulk_wait_group(0, read=True)" in note.message


@cute.kernel
def _prefetching_kernel(mX: cute.Tensor, mY: cute.Tensor, waits: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    sX = smem(128)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    four = cute.make_layout(4)
    cute.copy(
        atom,
        cute.make_tensor((mX.iterator + 4 * tidx).align(16), four),
        cute.make_tensor((sX.iterator + 4 * tidx).align(16), four),
    )
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(waits):
        cute.arch.cp_async_wait_group(0)
    mY[tidx] = 1.0


@cute.jit
def _prefetching(mX: cute.Tensor, mY: cute.Tensor, waits: cutlass.Constexpr):
    _prefetching_kernel(mX, mY, waits).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_a_cp_async_in_flight_when_its_block_leaves_is_a_note():
    x, y = fk.randn(128), fk.empty(32)
    report = fk.sanitize(fk.compile(_prefetching, x, y, False), x, y)
    (note,) = report.findings
    assert (note.kind, note.severity, note.count) == ("async-copy", "note", 32)
    assert "is still in flight when its block exits" in note.message
    assert not fk.sanitize(fk.compile(_prefetching, x, y, True), x, y).findings


def test_a_load_that_a_leaving_block_does_not_wait_for_is_an_error():
    run, args = mutant("bulk_pipeline_not_awaited")
    found = [f for f in fk.sanitize(run, *args).findings if f.kind == "block-lifetime"]
    assert found and all(f.severity == "error" for f in found)


# -- the report ---------------------------------------------------------------------------------
def correct_transpose():
    args = FAMILIES["transpose"].args()
    return compile_correct(FAMILIES["transpose"], args), args


def test_a_clean_report():
    run, args = correct_transpose()
    report = fk.sanitize(run, *args, schedule="adversarial")
    assert report
    assert str(report) == "transpose: clean (4 runs)"
    assert report.schedules[1:] == tuple(f"adversarial, seed {s}" for s in range(3))


def test_arguments_stay_as_they_are():
    run, (x, y) = mutant("transpose_without_barrier")
    before = x.clone()
    fk.sanitize(run, x, y, schedule="adversarial", seeds=2)
    assert torch.equal(x, before)
    assert y.isnan().all()


def test_a_report_of_a_race():
    run, args = mutant("transpose_without_barrier")
    report = fk.sanitize(run, *args, schedule="adversarial", seeds=4)
    assert not report
    # in another order, some threads read before any thread has written
    finding, noise = report.findings
    assert (finding.kind, noise.kind) == ("shared-race", "uninitialised-shared")
    later, earlier = finding.lines
    assert later.line > earlier.line
    assert finding.count > 100
    assert finding.block == (0, 0, 0) and finding.thread is not None
    assert finding.place.startswith("shared memory, byte ")
    assert report.differences
    assert {d.tensor for d in report.differences} == {"mY"}
    bundle = report._repr_mimebundle_()
    assert "Race in shared memory" in bundle["text/html"]
    assert "×" in bundle["text/plain"]


def test_a_kernel_that_is_stopped_is_a_finding():
    x, y = fk.ones(10), fk.empty(8)
    run = fk.compile(simple.copy, x, y)
    report = fk.sanitize(run, x, y)
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert finding.kind == "out-of-bounds"
    assert finding.place == "mY[8] of mY: float32 (8,)"
    assert [line.file.endswith("simple.py") for line in finding.lines] == [True]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedule": "nasty"}, "schedule: got 'nasty', needed one of 'default', 'adversarial'"),
        (
            {"schedule": "adversarial", "seeds": 0},
            "seeds: got 0, needed a count from 1 to 10,000, or",
        ),
        (
            {"schedule": "adversarial", "seeds": [-1]},
            r"got \[-1\], needed a count from 1 to 10,000, or",
        ),
        (
            {"schedule": "adversarial", "seeds": []},
            r"got \[\], needed a count from 1 to 10,000, or",
        ),
        ({"seeds": 5}, "seeds: got 5, needed an adversarial schedule"),
        ({"schedule": "adversarial", "seeds": "3"}, "got '3', needed a whole number or a list"),
    ],
)
def test_bad_options(options, words):
    x, y = fk.ones(8), fk.empty(8)
    with pytest.raises(UsageError, match=words):
        fk.sanitize(fk.compile(simple.copy, x, y), x, y, **options)


def test_not_compiled():
    with pytest.raises(UsageError, match="needed a compiled kernel; compile it first"):
        fk.sanitize(simple.copy, fk.ones(8), fk.empty(8))


# -- order of accesses -----------------------------------------------------------------------------
def sanitized(host, *args, constants=()):
    return fk.sanitize(fk.compile(host, *args, *constants), *args)


def test_a_barrier_that_a_warp_has_left_the_kernel_without():
    (finding,) = sanitized(order_kernels.barrier_of_one_warp, fk.randn(64), fk.empty(64)).findings
    assert finding.kind == "divergent-barrier"
    assert "32 threads of its block have exited without arriving" in finding.message
    assert "thread (32, 0, 0) of block (0, 0, 0)" in finding.message


def test_a_shuffle_orders_no_memory():
    args = fk.randn(32), fk.empty(32)
    assert sanitized(order_kernels.exchange, *args, constants=(None,))
    (finding,) = sanitized(order_kernels.exchange, *args, constants=("shuffles only",)).findings
    assert finding.kind == "shared-race"


def test_the_last_block_may_reset_the_counter():
    count = fk.zeros(1, dtype=torch.int32)
    assert sanitized(order_kernels.ticket, fk.randn(4, 64), count, fk.empty(4, 64))


def test_an_atomic_operation_has_its_line():
    args = fk.randn(4, 64), fk.zeros(1, dtype=torch.int32), fk.empty(4, 64)
    p = fk.profile(fk.compile(order_kernels.ticket, *args), *args)
    (line,) = p.filter(kind="global_atomic").lines
    assert "atomic_add(" in line.text


def test_what_a_second_launch_writes_is_written():
    report = sanitized(order_kernels.two_launches, fk.randn(64), fk.empty(64), fk.empty(64))
    assert report.findings == []


def test_a_race_of_a_line_with_itself():
    text = str(sanitized(order_kernels.plain_sum, fk.randn(64), fk.zeros(1)))
    assert "cute.arch.atomic_add" in text
    assert "between the two lines" not in text


@cute.kernel
def _vectors_kernel(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    rX = cute.make_rmem_tensor(width, mX.element_type)
    cute.autovec_copy(cute.local_tile(mX, (width,), (tidx,)), rX)
    cute.autovec_copy(rX, cute.local_tile(mY, (width,), (cutlass.min(tidx, 15),)))


@cute.jit
def _vectors(mX: cute.Tensor, mY: cute.Tensor, width: cutlass.Constexpr):
    _vectors_kernel(mX, mY, width).launch(grid=(1, 1, 1), block=(64, 1, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_several_threads_may_store_equal_vectors(dtype, size):
    """Threads 15 to 63 store to the same vector of `size` bytes."""
    width = size // dtype.itemsize
    x, y = torch.ones(64 * width, dtype=dtype), fk.empty(16 * width, dtype=dtype, device="virtual")
    assert sanitized(_vectors, x, y, constants=(width,)).findings == []
    x[-1] = 2
    (finding,) = sanitized(_vectors, x, y, constants=(width,)).findings
    assert finding.kind == "global-race"


# -- read-only arguments ------------------------------------------------------------------------
def test_a_read_only_tensor():
    x, y = fk.ones(8), fk.empty(8)
    run = fk.compile(simple.copy, fk.spec(x, read_only=True), y)
    run(x, y)
    assert fk.check(y, x)
    run = fk.compile(simple.copy, x, fk.spec(y, read_only=True))
    with pytest.raises(fk.KernelError, match="Write to a read-only tensor") as caught:
        run(x, y)
    assert caught.value.kind == "read-only-write"
    assert "mY: float32 (8,) was declared read_only" in str(caught.value)


# -- check() under adversarial schedules -----------------------------------------------------------
def test_check_runs_adversarial_schedules():
    run, (x, y) = mutant("transpose_without_barrier")
    with forgekit.vgpu.options(sanitize=False):
        run(x, y)
    with pytest.raises(CheckError, match=r"adversarial schedule, seed \d"):
        fk.check(y, x.T, again=lambda: run(x, y), seeds=6)


def test_check_of_a_correct_kernel_under_adversarial_schedules():
    run, (x, y) = correct_transpose()
    run(x, y)
    assert fk.check(y, x.T, again=lambda: run(x, y))


def test_seeds_need_again():
    with pytest.raises(UsageError, match="seeds: got 3, needed seeds= together with again="):
        fk.check([1.0], [1.0], seeds=3)


# -- unwritten tensors -----------------------------------------------------------------
def by_numpy(x):
    x.numpy()[:] = 1.0


@pytest.mark.parametrize("write", [torch.Tensor.zero_, by_numpy])
def test_what_torch_and_numpy_write_is_known(write):
    x, y = fk.empty(8), fk.empty(8)
    run = fk.compile(simple.copy, x, y)
    with pytest.raises(SanitizerError, match="Uninitialised tensor element"):
        run(x, y)
    write(x)
    run(x, y)


def test_what_a_kernel_writes_is_known():
    """The kernel writes half of a tensor."""
    x, y, z = fk.ones(8), fk.empty(16), fk.empty(8)
    run = fk.compile(simple.copy, x, z)
    run(x, y[:8])
    run(y[:8], z)
    assert fk.check(z, x)
    with pytest.raises(SanitizerError, match=r"reads mX\[0\] of mX"):
        run(y[8:], z)


def test_forgotten_with_the_tensor():
    y = fk.empty(8)
    assert y.data_ptr() in fresh._entries
    address = y.data_ptr()
    del y
    assert address not in fresh._entries


def test_in_inference_mode():
    with torch.inference_mode():
        assert fk.empty(4).isnan().all()
