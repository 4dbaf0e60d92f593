"""Test torch's "cuda" device and cuda-python's calls on the virtual GPU: refused calls, and the
restored state."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cuda.bindings import driver, runtime
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

import forgekit
import forgekit.ops as ops
import forgekit.vgpu
from forgekit.cuda import marks
from forgekit.devices import current_target
from forgekit.errors import (
    ArgumentMismatchError,
    DeadlockError,
    LaunchError,
    MemoryAccessError,
    PlatformError,
    UsageError,
)
from forgekit.vgpu.host import limits

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="torch has a real GPU")


@pytest.fixture
def cuda():
    with forgekit.vgpu.installed():
        forgekit.vgpu.install(cuda=True)
        yield


def _attributes():
    owners = (torch, torch.cuda, torch.Tensor, torch.autocast, torch.accelerator, torch.nn.Module,
              threading.Thread, driver, runtime, limits)  # fmt: skip
    return {f"{owner}.{name}": value for owner in owners for name, value in vars(owner).items()}


def test_uninstall_restores_all_that_was_replaced():
    before = _attributes()
    with forgekit.vgpu.installed():
        forgekit.vgpu.install(cuda=True)
        forgekit.vgpu.install(cuda=True)  # a second call changes nothing
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


def _ones(device="cuda"):
    return torch.ones(4, device=device)


@pytest.mark.parametrize(
    "mix",
    [
        lambda: _ones() + _ones("cpu") * 2,
        lambda: _ones().add_(torch.from_numpy(np.ones(4, np.float32))),
        lambda: torch.add(_ones(), 1, out=torch.empty(4)),
        lambda: torch.cat([_ones(), torch.randn(4).relu()]),
        lambda: torch.nn.Linear(4, 4)(_ones()),
        lambda: torch.nn.Linear(4, 4).cuda()(_ones("cpu")),
        lambda: torch.nn.Embedding(4, 2).cuda()(torch.tensor([1, 2])),
        lambda: torch.where(_ones() > 0, _ones(), _ones("cpu")),
        lambda: _ones("cpu")[torch.tensor([0, 1], device="cuda")],
        lambda: torch.equal(_ones(), _ones().cpu()),
    ],
)
def test_operations_that_mix_both_sides_raise_torchs_error(cuda, mix):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mix()


def test_operations_that_may_mix_both_sides_do(cuda):
    x, one = torch.zeros(4, device="cuda"), torch.tensor(1.0)
    x[torch.tensor([0, 1])] = one
    x[2:] = torch.tensor([3.0, 4.0])
    assert (x + one).is_cuda and x.clamp(min=one).tolist() == [1, 1, 3, 4]
    sequence = torch.nn.utils.rnn.pack_padded_sequence(
        torch.randn(3, 2, 4, device="cuda"), torch.tensor([3, 2])
    )
    assert sequence.data.is_cuda and sequence.batch_sizes.is_cpu


def test_results_are_where_their_operands_are(cuda):
    x = _ones().view(2, 2)
    assert x.is_cuda and x.copy_(torch.ones(2, 2)).is_cuda and x.add_(1).is_cuda
    # For CPU tensors, torch runs other code, which writes the result in parts.
    assert functional.one_hot(torch.tensor([1, 2], device="cuda")).is_cuda


def test_autocast_has_the_gpus_dtype(cuda):
    net, x = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
    with torch.autocast(device_type="cuda"):
        assert net(x).dtype == torch.float16 and torch.is_autocast_enabled("cuda")
        with torch.amp.autocast("cuda", enabled=False):
            assert net(x).dtype == torch.float32
    with torch.autocast("cpu"):
        assert net(x).dtype == torch.bfloat16
    assert net(x).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_are_added_up_as_tensor_cores_do(cuda, dtype):
    """16 products are added at a time; 2**-26 is truncated if the same sum contains 1, and kept
    otherwise."""
    one, tiny = torch.zeros(16), torch.zeros(16)
    one[0], tiny[:4] = 1, 2.0**-13
    for left, right, expected in (
        ([one, tiny, -one], [one, tiny, one], 0),
        ([one, -one, tiny], [one, one, tiny], 2.0**-24),
    ):
        row, column = (torch.cat(steps).to("cuda", dtype) for steps in (left, right))
        product = torch.stack([row, 2 * row]) @ column[:, None]
        assert product.flatten().tolist() == [expected, 2 * expected]
        assert torch.bmm(row[None, None], column[None, :, None]).item() == expected
    x, y = (torch.randn(shape, device="cuda", dtype=dtype) for shape in ((5, 33), (33, 7)))
    torch.testing.assert_close(x @ y, (x.float() @ y.float()).to(dtype))
    assert (x[:, :0] @ y[:0]).eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_products_with_a_result_of_their_own_type(cuda, dtype):
    x, y = (torch.randn(shape, device="cuda").to(dtype) for shape in ((5, 33), (33, 7)))
    z, wide = torch.randn(5, 7, device="cuda"), {"out_dtype": torch.float32}
    product = x.float() @ y.float()
    for got, want in (
        (torch.mm(x, y, **wide), product),
        (torch.mm(x[:, :0], y[:0], **wide), product * 0),
        (torch.bmm(x[None], y[None], **wide), product[None]),
        (torch.addmm(z, x, y, **wide, alpha=3, beta=2), 2 * z + 3 * product),
        (torch.baddbmm(z[None], x[None], y[None], **wide), (z + product)[None]),
        (torch.mm(x, y, out_dtype=dtype), x @ y),
    ):
        assert got.is_cuda and got.dtype == want.dtype
        torch.testing.assert_close(got, want)


@pytest.mark.filterwarnings("ignore:Using -1 to represent CPU")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_data_parallel_has_one_device(cuda, device):
    net, x = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device=device, requires_grad=True)
    result = torch.nn.DataParallel(net)(x)
    result.sum().backward()
    assert result.is_cuda and torch.equal(result, net(x.cuda()))
    assert x.grad.device == x.device
    assert torch.equal(x.grad.cpu(), net.weight.sum(0).expand(2, 4).cpu())


@cute.kernel
def _reach_kernel(mX: cute.Tensor, shift: cutlass.Constexpr):
    if cutlass.const_expr(shift < 0):
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    wide = cute.make_ptr(cutlass.Float32, mX.iterator.toint() + 4 * shift, assumed_align=16)
    vector = cute.make_tensor(wide, cute.make_layout(4))
    vector.store(vector.load() + 1.0)


@cute.jit
def _reach(mX: cute.Tensor, shift: cutlass.Constexpr, blocks: cutlass.Constexpr):
    _reach_kernel(mX, shift).launch(grid=(blocks, 1, 1), block=(32, 1, 1), cooperative=blocks > 1)


@pytest.mark.parametrize(
    ("shift", "blocks", "kind", "code", "said"),
    [
        (8, 1, MemoryAccessError, "IllegalAddress", "Out of bounds"),
        (1, 1, MemoryAccessError, "MisalignedAddress", "Misaligned access"),
        (-1, 1, DeadlockError, "LaunchTimeout", "Deadlock"),
        (0, 9000, LaunchError, "CooperativeLaunchTooLarge", "cooperative launch: got 9,000 blocks"),
    ],
)
def test_a_launch_that_cannot_go_on_raises_cudas_error(cuda, shift, blocks, kind, code, said):
    """A script may expect CUDA's error code, from CuTe DSL or torch; forgekit's message is kept."""
    from cutlass.base_dsl.common import DSLCudaRuntimeError

    for expected in (DSLCudaRuntimeError, torch.AcceleratorError, kind):
        with pytest.raises(expected, match=said) as raised:
            _reach(from_dlpack(torch.ones(8, device="cuda")), shift, blocks)
    assert raised.value.error_code == getattr(runtime.cudaError_t, f"cudaError{code}")


@pytest.mark.parametrize(
    "holds",
    [
        lambda: torch.Generator("cuda").device.type == "cuda" and torch.version.cuda,
        lambda: _ones().numpy(force=True).sum() == 4 and _ones().type(torch.int8).is_cuda,
        lambda: torch.compiler.reset() is None,
        lambda: torch.cuda.cudart().cudaProfilerStart() is None,
        lambda: torch.ones(2, device=0).is_cuda and torch.empty(4, pin_memory=True).is_pinned(),
        lambda: torch.from_dlpack(_ones()).is_cuda and torch.from_dlpack(_ones("cpu")).is_cpu,
        lambda: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(_ones())).is_cuda,
        lambda: (
            torch.cuda.HalfTensor([1, 2]).is_cuda and _ones().type() == "torch.cuda.FloatTensor"
        ),
        lambda: _ones().type("torch.cuda.HalfTensor").dtype == torch.float16,
        lambda: isinstance(_ones().cpu().type(torch.cuda.IntTensor), torch.cuda.IntTensor),
        lambda: torch.cuda.nvtx.range_push("a") == torch.cuda.nvtx.range_pop(),
        lambda: torch.cuda.memory_summary() and torch.cuda.memory_stats()["x"] == 0,
        # A profile of "cuda" would print a warning for each operation.
        lambda: torch.autograd.profiler.profile(use_device="cuda").use_device is None,
    ],
)
def test_idioms_of_scripts(cuda, holds):
    assert holds()


def test_forgekits_own_operators_take_tensors_on_cuda(cuda):
    x = torch.randn(3, 40, device="cuda", requires_grad=True)
    y = ops.softmax(x)
    y.square().sum().backward()
    assert y.is_cuda and x.grad.is_cuda
    torch.testing.assert_close(y.cpu(), torch.softmax(x.detach().cpu(), -1))


def test_an_operator_for_cuda_alone(cuda):
    """The operator runs on "cuda", uses its registration for fake tensors, and does not run on the
    CPU."""

    @torch.library.custom_op("forgekit_test::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda and type(x) is torch.Tensor
        return torch.full((4,), 2.0, device="cuda") * x

    twice.register_fake(torch.empty_like)
    assert twice(_ones()).is_cuda
    x = _ones()
    with FakeTensorMode() as fake:
        assert twice(fake.from_tensor(x)).is_cuda
    with pytest.raises(NotImplementedError, match="CPU"):
        twice(_ones("cpu"))


@cute.kernel
def add_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = mX[tidx] + mY[tidx]


@cute.jit
def add_to(mX: cute.Tensor, mY: cute.Tensor):
    add_kernel(mX, mY).launch(grid=(1, 1, 1), block=(4, 1, 1))


def test_arrays_of_numpy_go_through_from_dlpack(cuda):
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    add_to(from_dlpack(x), from_dlpack(y))
    assert (y == 1).all()


def test_the_older_benchmark_runs_its_function_once(cuda):
    """`cute.testing` wraps the older benchmark under the same name; the warning names the caller's
    line."""
    from cutlass.cute.testing import benchmark
    from cutlass.testing import JitArguments

    run = forgekit.compile(add_to, _ones(), _ones())
    x, y = _ones(), torch.zeros(4, device="cuda")
    with pytest.warns(DeprecationWarning, match="use cutlass.testing.benchmark") as warned:
        benchmark(run, kernel_arguments=JitArguments(x, y), iterations=50)
    assert y.tolist() == [1] * 4 and warned[0].filename == __file__


def test_a_kernel_does_not_reach_the_hosts_memory(cuda):
    """A script that does not move an argument would fail on a GPU, although kernels can access
    pinned memory."""
    run = forgekit.compile(add_to, _ones(), forgekit.zeros(4))
    y = torch.zeros(4)
    with pytest.raises(MemoryAccessError, match=r"(?s)reads 4 bytes of mY.*on the CPU.*mY.to"):
        run(_ones(), y)
    assert (y == 0).all()
    for y in (torch.zeros(4, pin_memory=True), forgekit.zeros(4), torch.zeros(4, device="cuda")):
        run(_ones(), y)
        assert (y == 1).all()
    run(_ones("cpu"), y.cpu())


@cute.kernel
def _add_one_kernel(mX: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    mX[tidx] += 1.0


@cute.jit
def _add_one(mX: cute.Tensor):
    _add_one_kernel(mX).launch(grid=(1, 1, 1), block=(8, 1, 1))


@pytest.mark.parametrize("align", [128, 256])
def test_a_tensor_has_the_alignment_that_a_gpus_allocator_gives(cuda, align):
    for _ in range(4):  # the CPU's allocator aligns to 64 bytes, so some of these are in between
        x = torch.ones(8, device="cuda")
        add = cute.compile(_add_one, from_dlpack(x, assumed_align=align))
        add(from_dlpack(x, assumed_align=align))
        assert x.tolist() == [2.0] * 8
    with pytest.raises(ArgumentMismatchError, match=f"a multiple of {align} bytes"):
        add(from_dlpack(torch.ones(80, device="cuda")[16:24], assumed_align=align))


@cute.kernel
def _table_kernel(mTable: cute.Tensor, mY: cute.Tensor):
    source = cute.make_ptr(cutlass.Float32, mTable[0], cute.AddressSpace.gmem, assumed_align=4)
    tidx, _, _ = cute.arch.thread_idx()
    mY[tidx] = cute.make_tensor(source, cute.make_layout(8))[tidx]


@cute.jit
def _table(mTable: cute.Tensor, mY: cute.Tensor):
    _table_kernel(mTable, mY).launch(grid=(1, 1, 1), block=(8, 1, 1))


def test_a_pointer_reaches_memory_that_its_tensor_has_left(cuda):
    """On a GPU, torch's allocator keeps such memory; the virtual GPU keeps the latest 64 MiB."""
    table = torch.tensor([torch.full((8,), 3.0, device="cuda").data_ptr()], device="cuda")
    y = torch.zeros(8, device="cuda")
    _table(from_dlpack(table), from_dlpack(y))
    assert y.tolist() == [3.0] * 8
    for _ in range(100):
        torch.ones(1 << 20, device="cuda")
    assert sum(kept.nbytes() for kept in marks.KEPT) <= 64 << 20
    with pytest.raises(MemoryAccessError, match="belongs to no tensor"):
        _table(from_dlpack(table), from_dlpack(y))


def test_tvm_ffi_takes_no_tensor_of_the_cpu(cuda):
    x = make_fake_compact_tensor(cutlass.Float32, (4,))
    run = cute.compile(add_to, x, x, options="--enable-tvm-ffi")
    run(_ones(), _ones())
    with pytest.raises(ArgumentMismatchError, match="`mY`: got a tensor on the CPU, needed a"):
        run(_ones(), _ones("cpu"))


def test_a_sparse_tensor_is_where_its_source_is(cuda):
    """A sparse tensor has no storage that could carry the mark."""
    x = torch.eye(3, device="cuda")
    sparse = x.to_sparse()
    assert sparse.is_cuda and sparse.to_dense().is_cuda and (sparse @ x).is_cuda
    assert not sparse.cpu().is_cuda and torch.eye(3).to_sparse().cuda().is_cuda


def test_new_memory_is_aligned_as_on_a_gpu(cuda):
    x = torch.empty(24, dtype=torch.int64, device="cuda")
    made = [x, x + 1, torch.ones(7).cuda(), torch.randn(999, device="cuda").half()]
    made += [*torch.ones(9, 5, device="cuda").max(dim=0), torch.eye(4, device="cuda").T @ _ones()]
    assert [t.data_ptr() % 512 for t in made] == [0] * len(made)
    x[3:].fill_(5)
    assert x[3:].data_ptr() == x.data_ptr() + 24 and x[3:].tolist() == [5] * 21
    assert made[2].tolist() == [1] * 7 and not torch.ones(0).cuda().tolist()
    assert x.resize_(4).tolist()[3:] == [5]
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(400)


def test_forgekit_itself_knows_that_there_is_no_gpu(cuda):
    assert current_target().kind == "virtual"
    with pytest.raises(PlatformError, match="an NVIDIA GPU that PyTorch can use"):
        current_target("gpu")


def test_a_real_gpu_is_left_alone(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    with forgekit.vgpu.installed(), pytest.raises(PlatformError, match="a machine without a GPU"):
        forgekit.vgpu.install(cuda=True)


@cute.jit
def _launch_nothing():
    pass


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: torch.cuda.Event().elapsed_time(torch.cuda.Event()),
            "an event that was not recorded",
        ),
        (lambda: driver.cuModuleLoadData(b""), "a call to cuModuleLoadData"),
        (lambda: cute.runtime.load_module("/dev/null"), "got '/dev/null', needed a file with f"),
        (lambda: cute.compile(_launch_nothing).export_to_c("a.o"), "with a kernel; compile it"),
        (lambda: runtime.cudaMemcpyPeer(), "a call to cudaMemcpyPeer"),
        (lambda: driver.cuDeviceGet(1), "device: got 1, needed 0"),
        (lambda: driver.cuMemFree(64), "free: got 0x40"),
        (lambda: driver.cuMemsetD8(4096, 0, 9), "9 bytes at 0x1000, where no memory is allocated"),
        (lambda: runtime.cudaStreamBeginCapture(0, None), "a capture of the default stream"),
        (lambda: runtime.cudaStreamEndCapture(16), "needed a capture in progress"),
    ],
)
def test_what_is_not_there_is_refused_in_words(cuda, call, said):
    with pytest.raises(UsageError) as refused:
        call()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones(1, device="cuda:1"),
        lambda: _ones("cpu").to("cuda:1"),
        lambda: torch.cuda.set_device(1),
    ],
)
def test_another_gpu_is_torchs_error(cuda, call):
    with pytest.raises(RuntimeError, match=r"CUDA error: invalid device .*got cuda:1, needed cud"):
        call()


def test_a_copy_beyond_an_allocation_is_refused(cuda):
    _, pointer = driver.cuMemAlloc(64)
    host = torch.zeros(100)
    with pytest.raises(UsageError, match=r"65 bytes at 0x.*, where 64 bytes remain"):
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
