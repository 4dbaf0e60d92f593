"""Test the choice of the target on which kernels run, with a simulated GPU, and the target's
tensors."""

import hashlib
import subprocess
import sys

import pytest
import torch

from forgekit import devices, tensors
from forgekit.devices import Target, current_target, gpu_report, use_target
from forgekit.errors import PlatformError, UsageError


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in ("FORGEKIT_DEVICE", "FORGEKIT_ARCH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(devices._Chosen, "of_all", (None, None))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def gpu(monkeypatch):
    """Simulate a GPU; return a function that changes its compute capability."""

    def pretend(capability=(9, 0), name="NVIDIA H200"):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: name)

    pretend()
    return pretend


def test_without_gpu_it_is_virtual():
    target = current_target()
    assert target == Target("virtual", "sm_90a", "virtual GPU (sm_90a)")
    assert target.torch_device == torch.device("cpu")


def test_with_gpu_it_is_the_gpu(gpu):
    assert current_target() == Target("gpu", "sm_90a", "NVIDIA H200")
    assert current_target().torch_device == torch.device("cuda")
    assert current_target("virtual", "sm_80").arch == "sm_80"


@pytest.mark.parametrize("name", ["virtual", "CPU", " virtual ", "gpu", "cuda", "auto"])
def test_names_of_devices(gpu, name):
    kind = "gpu" if name in ("gpu", "cuda", "auto") else "virtual"
    assert current_target(name).kind == kind


def test_order_argument_choice_environment(gpu, monkeypatch):
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    monkeypatch.setenv("FORGEKIT_ARCH", "sm_100a")
    assert current_target().arch == "sm_100a"
    use_target("virtual", arch="sm_80")
    assert current_target().arch == "sm_80"
    assert current_target("virtual", "sm_90a").arch == "sm_90a"
    use_target()
    assert current_target().arch == "sm_100a"


def test_use_target_as_context_manager(gpu):
    with use_target("virtual", arch="sm_80") as outer:
        assert outer == current_target()
        with use_target("virtual", arch="sm_100a"):
            assert current_target().arch == "sm_100a"
        assert current_target() == outer
    assert current_target().kind == "gpu"


def test_context_manager_ends_when_its_block_raises():
    with pytest.raises(ZeroDivisionError), use_target("virtual", arch="sm_80"):
        raise ZeroDivisionError
    assert current_target().arch == "sm_90a"


def test_wrong_choice_changes_nothing():
    use_target("virtual", arch="sm_80")
    with pytest.raises(UsageError):
        use_target("virtual", arch="sm_75")
    with pytest.raises(PlatformError):
        use_target("gpu")
    assert current_target().arch == "sm_80"


@pytest.mark.parametrize(
    ("capability", "arch"),
    [
        ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"),
        ((10, 0), "sm_100a"), ((10, 3), "sm_103a"), ((12, 0), "sm_120a"), ((12, 1), "sm_121a"),
    ],
)  # fmt: skip
def test_arch_of_gpu(gpu, capability, arch):
    gpu(capability)
    assert current_target().arch == arch
    assert current_target("gpu", arch).arch == arch


def test_old_gpu(gpu):
    gpu((7, 5), "Tesla T4")
    with pytest.raises(PlatformError, match=r"Tesla T4 .* 7\.5.*FORGEKIT_DEVICE=virtual"):
        current_target()
    assert current_target("virtual").kind == "virtual"


def test_gpu_asked_for_and_not_there(monkeypatch):
    with pytest.raises(PlatformError, match=r"device: got gpu.*FORGEKIT_DEVICE=virtual"):
        current_target("gpu")
    monkeypatch.setenv("FORGEKIT_DEVICE", "cuda")
    with pytest.raises(PlatformError, match="FORGEKIT_DEVICE: got gpu"):
        current_target()


@pytest.mark.parametrize(
    ("arch", "near"),
    [("sm_75", "sm_90a"), ("sm_90", "sm_90a"), ("sm_100", "sm_100a"), ("", "sm_90a")],
)
def test_archs_that_are_refused(arch, near):
    says = rf"arch: got .* needed one of sm_80, sm_90a, sm_100a.*; use {near}$"
    with pytest.raises(UsageError, match=says):
        current_target("virtual", arch)


def test_other_arch_than_the_gpus(gpu, monkeypatch):
    with pytest.raises(
        UsageError,
        match=r"arch: got 'sm_80', needed sm_90a, the architecture of this machine's NVIDIA H200",
    ):
        current_target(arch="sm_80")
    monkeypatch.setenv("FORGEKIT_ARCH", "sm_80")
    with pytest.raises(UsageError, match="FORGEKIT_ARCH: got 'sm_80'"):
        current_target()


def test_unknown_device(monkeypatch):
    with pytest.raises(UsageError, match=r"device: got 'tpu', needed one of gpu, cuda, virtual"):
        current_target("tpu")
    monkeypatch.setenv("FORGEKIT_DEVICE", "metal")
    with pytest.raises(UsageError, match="FORGEKIT_DEVICE: got 'metal'"):
        current_target()


# Tensors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("make", [tensors.randn, tensors.rand])
def test_random_values_depend_on_the_seed_only(make, dtype):
    state = torch.get_rng_state()
    first = make(4, 8, dtype=dtype)
    torch.manual_seed(99)
    assert torch.equal(first, make((4, 8), dtype=dtype))
    assert torch.equal(first, make(torch.Size((4, 8)), dtype=dtype, seed=0))
    assert not torch.equal(first, make(4, 8, dtype=dtype, seed=1))
    assert first.dtype == dtype and first.shape == (4, 8) and first.device.type == "cpu"
    torch.set_rng_state(state)


def test_global_generator_is_not_touched():
    state = torch.get_rng_state()
    tensors.randn(100), tensors.rand(100), tensors.randint(0, 5, 100)
    assert torch.equal(state, torch.get_rng_state())


def test_narrow_types_are_rounded_from_the_same_values():
    assert torch.equal(tensors.randn(64, dtype=torch.float16), tensors.randn(64).half())


def test_known_values():
    """Check values that must not change between versions of forgekit, because notebooks print
    them."""
    expected = torch.randn(3, generator=torch.Generator().manual_seed(7))
    assert torch.equal(tensors.randn(3, seed=7), expected)


def test_randint():
    values = tensors.randint(-3, 4, 1000)
    assert values.dtype == torch.int32
    assert set(values.tolist()) == set(range(-3, 4))
    assert tensors.randint(0, 256, 5, dtype=torch.uint8).dtype == torch.uint8
    with pytest.raises(UsageError, match="low < high"):
        tensors.randint(4, 4, 10)


def test_empty_is_poisoned():
    fills = {torch.int32: -(2**31), torch.int8: -128, torch.uint8: 255, torch.uint16: 65535}
    for dtype, fill in {**fills, torch.bool: True}.items():
        assert tensors.empty(2, 2, dtype=dtype).tolist() == [[fill, fill]] * 2
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.float64):
        assert tensors.empty(5, dtype=dtype).float().isnan().all()


def test_plain_makers():
    assert tensors.zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert tensors.ones((2,), dtype=torch.int32).tolist() == [1, 1]
    assert tensors.full((2, 1), 7.5).tolist() == [[7.5], [7.5]]
    assert tensors.full(2, 3, dtype=torch.int64).tolist() == [3, 3]
    assert (
        tensors.arange(3).tolist() == [0.0, 1.0, 2.0] and tensors.arange(3).dtype == torch.float32
    )
    assert tensors.arange(1, 7, 2, dtype=torch.int32).tolist() == [1, 3, 5]
    assert tensors.zeros(0, 4).shape == (0, 4)
    assert tensors.randn(()).shape == ()


@pytest.mark.parametrize("shape", [(-1,), (2.0,), ("3",), (True,), (2, (3,))])
def test_bad_shapes(shape):
    with pytest.raises(UsageError, match="shape: got"):
        tensors.zeros(*shape)


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [("float16", "torch.float16"), (float, "torch.float"), ("half precision", "torch.float32")],
)
def test_dtypes_that_are_none_of_torchs(dtype, remedy):
    calls = [
        *(lambda make=make: make(4, dtype=dtype) for make in (tensors.empty, tensors.randn)),
        *(lambda make=make: make(4, dtype=dtype) for make in (tensors.zeros, tensors.arange)),
        lambda: tensors.randint(0, 3, 4, dtype=dtype),
    ]
    for call in calls:
        with pytest.raises(UsageError, match=f"needed a torch dtype; write dtype={remedy}$"):
            call()


def test_randn_says_that_a_seed_repeats_itself():
    first_lines = " ".join(tensors.randn.__doc__.split()[:30]).lower()
    assert "the same seed gives the same values" in first_lines and "seed=1" in first_lines


@pytest.mark.parametrize(
    ("count", "digest"),
    [(5, "210d4d6ce714"), (16, "0553bdca78c6"), (17, "9b1d95647b2e"), (1000, "764a468147f0")],
)
def test_normal_values_are_the_same_on_every_machine(count, digest):
    """Compare with digests recorded on x86-64 with AVX-512; the values are the same with AVX2,
    without AVX, and on arm64."""
    for dtype in (torch.float32, torch.float64):
        values = tensors.randn(count, dtype=dtype, device="virtual").float()
        assert hashlib.sha256(values.numpy().tobytes()).hexdigest()[:12] == digest


def test_integers_are_refused_by_float_makers():
    with pytest.raises(UsageError, match="use randint"):
        tensors.randn(3, dtype=torch.int32)


def test_makers_use_the_gpu(gpu, monkeypatch):
    asked = []
    monkeypatch.setattr(
        torch, "full", lambda shape, value, dtype, device: asked.append(device) or torch.Tensor()
    )
    tensors.zeros(3)
    tensors.zeros(3, device="virtual")
    assert asked == [torch.device("cuda"), torch.device("cpu")]


# Facts for `forgekit doctor`


def test_report():
    machine = gpu_report()
    assert machine.gpu is None
    assert machine.torch == torch.__version__
    assert machine.target == current_target() and machine.target_problem is None
    assert machine.python == sys.version.split()[0]


def test_report_of_a_wrong_environment(monkeypatch):
    monkeypatch.setenv("FORGEKIT_DEVICE", "gpu")
    machine = gpu_report()
    assert machine.target is None and "FORGEKIT_DEVICE" in machine.target_problem


def test_report_with_a_gpu(gpu, monkeypatch):
    class Done:
        stdout = "580.95.05\n"

    monkeypatch.setattr("shutil.which", lambda *_, **__: "/usr/bin/tool")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: Done)
    machine = gpu_report()
    assert (machine.gpu, machine.driver) == ("NVIDIA H200", "580.95.05")
    assert machine.disassembler == "/usr/bin/tool"
