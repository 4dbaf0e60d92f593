"""Test that four concurrent threads compute the results of separate runs, and leave no trace."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

import forgekit as fk
import forgekit.vgpu
from forgekit.lessons.gates import submission
from forgekit.vgpu.host import options

cutlass = pytest.importorskip("cutlass")
import cutlass.cute as cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402
from cutlass.cutlass_dsl import CuTeDSL  # noqa: E402

THREADS = 4
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_90a")


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 32 + tidx
    if i < x.shape[0]:
        y[i] = x[i] * factor
    if i == 0:
        cute.printf("factor {}", cutlass.Int32(factor))


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Constexpr):
    scale_kernel(x, y, factor).launch(grid=[cute.ceil_div(x.shape[0], 32), 1, 1], block=[32, 1, 1])


@cute.kernel
def racy_kernel(x: cute.Tensor, y: cute.Tensor, shift: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64))
    s[tidx] = x[tidx]
    y[tidx] = s[(tidx + shift) % 64]  # the barrier is missing


@cute.jit
def racy(x: cute.Tensor, y: cute.Tensor, shift: cutlass.Constexpr):
    racy_kernel(x, y, shift).launch(grid=[1, 1, 1], block=[64, 1, 1])


def at_once(work: Callable[[int], Any], rounds: int = 1) -> list[list[Any]]:
    """Return the result of `work` for each thread in each round, with all threads starting a round
    together."""
    start = threading.Barrier(THREADS)

    def thread(number: int) -> list[Any]:
        results = []
        try:
            for _ in range(rounds):
                start.wait(60)
                results.append(work(number))
        except BaseException:
            start.abort()  # the others need not wait for this thread
            raise
        return results

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(thread, range(THREADS)))


@pytest.fixture(autouse=True)
def no_trace():
    before, interval = (sys.stdout, sys.stderr), sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # threads alternate inside a launch
    with fk.use_target("virtual"):
        yield
    sys.setswitchinterval(interval)
    assert (sys.stdout, sys.stderr) == before
    assert options.current() == options.Options()


def tensors(number: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(size, dtype=torch.float32) + number, torch.zeros(size)


def compiled(number: int) -> tuple[Any, Any]:
    x, y = tensors(number, 96)
    a, b = tensors(number, 64)
    right = fk.compile(scale, x, y, number + 2, cache=False)
    return right, fk.compile(racy, a, b, number + 1, cache=False)


def used(right: Any, wrong: Any, number: int) -> tuple[Any, ...]:
    """Run, sanitize and profile a right kernel and a racy kernel that belong to this thread."""
    x, y = tensors(number, 96)
    right(x, y)
    clean = fk.sanitize(right, x, y)
    counts = fk.profile(right, x, y)
    a, b = tensors(number, 64)
    found = fk.sanitize(wrong, a, b)
    with pytest.raises(fk.SanitizerError):
        wrong(a, b)
    return y.tolist(), b.tolist(), str(clean), counts.to_dict(), str(found)


def test_threads_get_what_each_alone_gets(capsys):
    alone = [used(*compiled(number), number) for number in range(THREADS)]
    assert all("clean" in clean and "Race" in found for *_, clean, _, found in alone)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"factor {number + 2}" for number in range(THREADS)]

    kernels = [pair for (pair,) in at_once(compiled)]
    together = at_once(lambda number: used(*kernels[number], number), rounds=5)
    assert together == [[one] * 5 for one in alone]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(printed * 5)


def test_options_are_those_of_the_thread_that_sets_them():
    """The threads' `with` blocks overlap without being nested."""
    began, ended = threading.Event(), threading.Event()

    def other() -> tuple[bool, int]:
        with forgekit.vgpu.options(budget=7):
            began.set()
            assert ended.wait(60)
            return options.current().sanitize, options.current().budget

    with ThreadPoolExecutor(1) as pool:
        with forgekit.vgpu.options(sanitize=False):
            result = pool.submit(other)
            assert began.wait(60)
            assert options.current().budget == options.Options().budget
        ended.set()
        assert result.result() == (True, 7)


def test_a_command_s_options_are_those_of_the_threads_of_its_script():
    findings: list[Any] = []
    with options.options(all_threads=True, findings=findings), ThreadPoolExecutor(1) as pool:
        _, wrong = compiled(0)
        pool.submit(wrong, *tensors(0, 64)).result()
    assert [f.kind for f in findings if f.severity == "error"] == ["shared-race"]


def test_the_virtual_gpu_is_installed_until_the_last_block_ends():
    first, second = forgekit.vgpu.installed("sm_80"), forgekit.vgpu.installed("sm_100a")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert forgekit.vgpu.is_installed() and CuTeDSL._get_dsl().envar.arch == "sm_100a"
    second.__exit__(None, None, None)
    assert not forgekit.vgpu.is_installed()


def test_a_thread_chooses_its_own_target():
    def thread(number: int) -> str:
        with fk.use_target("virtual", arch=ARCHS[number]):
            return fk.compile(scale, *tensors(0, 96), 2).target.arch

    assert at_once(thread, rounds=3) == [[arch] * 3 for arch in ARCHS]
    with ThreadPoolExecutor(1) as pool, fk.use_target("virtual", arch="sm_80"):
        assert pool.submit(fk.current_target).result().arch == "sm_80"  # the main thread's options


def test_functions_called_without_compiling_first():
    """Several threads use the DSL's own cache and compiler concurrently."""

    def thread(number: int) -> list[float]:
        x, y = tensors(number, 96)
        scale(from_dlpack(x), from_dlpack(y), number + 20)
        return y.tolist()

    with forgekit.vgpu.installed():
        results = at_once(thread, rounds=3)
    wanted = [[tensors(n, 96)[0].mul(n + 20).tolist()] * 3 for n in range(THREADS)]
    assert results == wanted


def test_a_prediction_waits_for_its_own_thread():
    right, _ = compiled(0)
    fk.predict(global_load_sectors=12)
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(fk.profile, right, *tensors(0, 96)).result().predicted.all
    assert [p.said for p in fk.profile(right, *tensors(0, 96)).predicted.all] == [12]


def test_a_grader_drops_only_what_its_own_thread_prints(capsys):
    inside, said = threading.Event(), threading.Event()

    def other() -> None:
        assert inside.wait(60)
        print("from another thread")
        said.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(other)
        with submission._quiet():
            inside.set()
            assert said.wait(60)
            print("dropped")
    assert capsys.readouterr().out == "from another thread\n"
