"""torch's "cuda" and cuda-python's calls on the virtual GPU: what is refused, what is undone."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import torch
from cuda.bindings import driver, runtime

import forgekit.vgpu
from forgekit.devices import current_target
from forgekit.errors import PlatformError, UsageError

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a GPU of its own")


@pytest.fixture
def cuda():
    with forgekit.vgpu.installed():
        forgekit.vgpu.install(cuda=True)
        yield


def _attributes():
    owners = (torch, torch.cuda, torch.Tensor, torch.autocast, threading.Thread, driver, runtime)
    return {f"{owner}.{name}": value for owner in owners for name, value in vars(owner).items()}


def test_uninstall_restores_all_that_was_replaced():
    before = _attributes()
    with forgekit.vgpu.installed():
        forgekit.vgpu.install(cuda=True)
        forgekit.vgpu.install(cuda=True)  # a second time changes nothing
        assert torch.ones(1, device="cuda").is_cuda and _attributes() != before
        kept = torch.ones(2, device="cuda")
    after = _attributes()
    assert {k for k in before | after if before.get(k) is not after.get(k)} == set()
    assert not torch.cuda.is_available() and kept.device.type == "cpu" and (kept + 1).is_cpu
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1, device="cuda")


def test_a_thread_that_outlives_it_finds_torch_as_it_was():
    go, found = threading.Event(), []

    def work():
        found.append(torch.ones(1, device="cuda").is_cuda)
        go.wait(10)
        found.append((torch.ones(1) + 1).is_cuda)

    with forgekit.vgpu.installed():
        forgekit.vgpu.install(cuda=True)
        thread = threading.Thread(target=work)
        thread.start()
        while not found:
            thread.join(0.01)
    go.set()
    thread.join()
    assert found == [True, False]


def test_tensors_of_the_cpu_stay_there(cuda):
    x = torch.randn(3, requires_grad=True)
    y = (x * 2 + torch.zeros(3, device="cpu")).sum()
    y.backward()
    assert x.grad is not None and x.grad.is_cpu and y.device.type == "cpu"
    assert x.detach().numpy().shape == (3,) and torch.empty(2).to("meta").is_meta
    target = torch.zeros(3)
    assert target.copy_(torch.ones(3, device="cuda")).is_cpu and target.sum() == 3


def test_a_sparse_tensor_is_where_its_source_is(cuda):
    """It has no storage that could be marked."""
    x = torch.eye(3, device="cuda")
    sparse = x.to_sparse()
    assert sparse.is_cuda and sparse.to_dense().is_cuda and (sparse @ x).is_cuda
    assert not sparse.cpu().is_cuda and torch.eye(3).to_sparse().cuda().is_cuda


def test_forgekit_itself_knows_that_there_is_no_gpu(cuda):
    assert current_target().kind == "virtual"
    with pytest.raises(PlatformError, match="an NVIDIA GPU that PyTorch can use"):
        current_target("gpu")


def test_a_real_gpu_is_left_alone(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    with forgekit.vgpu.installed(), pytest.raises(PlatformError, match="one without"):
        forgekit.vgpu.install(cuda=True)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: torch.ones(1, device="cuda:1"), "got cuda:1, needed cuda:0"),
        (lambda: torch.cuda.Event().elapsed_time(torch.cuda.Event()), "without record()"),
        (lambda: torch.cuda.make_graphed_callables(1), "make_graphed_callables"),
        (lambda: driver.cuModuleLoadData(b""), "a call of cuModuleLoadData"),
        (lambda: runtime.cudaMemcpyPeer(), "a call of cudaMemcpyPeer"),
        (lambda: driver.cuDeviceGet(1), "device: got 1, needed 0"),
        (lambda: driver.cuMemFree(64), "free: got 0x40"),
        (lambda: driver.cuMemsetD8(4096, 0, 9), "9 bytes at 0x1000, where nothing is allocated"),
        (lambda: runtime.cudaStreamBeginCapture(0, None), "one of the default stream"),
        (lambda: runtime.cudaStreamEndCapture(16), "needed one that has begun"),
    ],
)
def test_what_is_not_there_is_refused_in_words(cuda, call, said):
    with pytest.raises(UsageError) as refused:
        call()
    assert said in str(refused.value)


def test_a_copy_beyond_an_allocation_is_refused(cuda):
    _, pointer = driver.cuMemAlloc(64)
    host = torch.zeros(100)
    with pytest.raises(UsageError, match=r"65 bytes at 0x.*, where 64 are left"):
        driver.cuMemcpyDtoH(host.data_ptr(), pointer, 65)
    driver.cuMemFree(pointer)
    with pytest.raises(UsageError, match="free each pointer once"):
        driver.cuMemFree(pointer)


def test_an_operation_of_a_graph_that_changes_and_makes_tensors_is_refused(cuda):
    x, mean, var = (torch.zeros(2, 3, device="cuda"), *torch.zeros(2, 3, device="cuda"))
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(UsageError, match="graph capture: got aten"), torch.cuda.graph(graph):
        torch.ops.aten._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5)
    assert not torch.cuda.is_current_stream_capturing()
