"""Test the functions that launches share: blocks per cluster, and the device of the arguments."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from forgekit.errors import PlatformError
from forgekit.ops import launching
from forgekit.ops.launching import clusters_of, on_its_device, runner


class Compiled:
    """A compiled kernel that records its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> None:
        self.calls.append(("checked", *args))

    def launch(self, *args: Any) -> None:
        self.calls.append(("direct", *args))


@pytest.mark.parametrize(
    ("arch", "clusters"),
    [("sm_80", 1), ("sm_86", 1), ("sm_89", 1), ("sm_90a", 16), ("sm_100a", 16), ("sm_120a", 8)],
)
def test_clusters(arch: str, clusters: int) -> None:
    assert clusters_of(arch) == clusters


def test_arguments_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    compiled = Compiled()
    runner(compiled, "sm_90a")(1, 2)
    runner(compiled, None)(1, 2)
    assert compiled.calls == [("checked", 1, 2), ("direct", 1, 2)]


def test_a_launch_on_the_device_of_its_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[Any] = []

    class Device:
        def __init__(self, device: torch.device) -> None:
            self.device = device

        def __enter__(self) -> None:
            entered.append(self.device)

        def __exit__(self, *told: Any) -> None:
            entered.append(None)

    monkeypatch.setattr(torch.cuda, "device", Device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    compiled, x = Compiled(), torch.empty(1)
    on_its_device(compiled.launch)(x, "y")
    runner(compiled, None)(x, "y")
    assert entered == [x.device, None] * 2
    assert [call[0] for call in compiled.calls] == ["direct", "direct"]


def test_gpus_of_several_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def capability(device: torch.device | None = None) -> tuple[int, int]:
        return (9, 0) if device is None else (8, 0)  # the current device, the tensor's device

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    run = runner(Compiled(), None)  # other launches may still serve their own GPU
    with pytest.raises(PlatformError, match=r"of cpu: got 8\.0, needed 9\.0.*CUDA_VISIBLE_DEVICES"):
        run(torch.empty(1))


def test_sizes_leave_room_beyond_the_end() -> None:
    assert launching.PIECE + 2**20 < 2**31
