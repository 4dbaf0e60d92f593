"""Replace torch's functions that query a tensor's device, move tensors between devices, and save
and load files."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.dlpack
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from forgekit.cuda.cute_dsl import KDL_CPU, KDL_CUDA, GlobalTensor, device_of_capsule
from forgekit.cuda.marks import CPU, CUDA, CUDA_ATTRIBUTE, PINNED_ATTRIBUTE, is_cuda, mark, on_gpu
from forgekit.cuda.patches import Patches


class _Move(torch.autograd.Function):
    """Copies a tensor to the other device, and its gradient back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, cuda: bool) -> torch.Tensor:
        ctx.cuda = cuda
        return mark(x.clone(), cuda, new=True)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return mark(gradient.clone(), not ctx.cuda, new=True), None


def _moved(x: torch.Tensor, cuda: bool) -> torch.Tensor:
    return x if on_gpu(x) == cuda else _Move.apply(x, cuda)


class _Typed(type):
    """The metaclass of classes such as `torch.cuda.FloatTensor`, which create tensors and are also
    their types."""

    of_cpu: Any

    def __call__(cls, *args: Any) -> torch.Tensor:
        return _moved(cls.of_cpu(*args), True)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, torch.Tensor) and on_gpu(x) and x.dtype == cls.of_cpu.dtype


def patch_tensors(patches: Patches) -> None:
    """Replace the functions that query a tensor's device and those that move tensors."""
    put, tensor = patches.put, torch.Tensor
    where = tensor.device

    def asks(name: str, of_marked: Any) -> None:
        original = getattr(tensor, name)
        get = original.__get__ if hasattr(original, "__set__") else None

        def ask(self: torch.Tensor) -> Any:
            return of_marked if on_gpu(self) else (get(self) if get else original(self))

        put(tensor, name, property(ask) if get else ask)

    for name, of_marked in (
        ("device", CUDA), ("is_cuda", True), ("is_cpu", False), ("get_device", 0),
        ("__dlpack_device__", (KDL_CUDA, 0)),
    ):  # fmt: skip
        asks(name, of_marked)
    put(tensor, "is_pinned", lambda self, device=None: getattr(
        self.untyped_storage(), PINNED_ATTRIBUTE, False))  # fmt: skip
    put(tensor, "record_stream", lambda self, stream: None)
    to = tensor.to

    def move(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        target = args[0] if args else kwargs.get("device", kwargs.get("other"))
        if isinstance(target, torch.Tensor):
            target = target.device
        if not isinstance(target, str | int | torch.device) or where.__get__(self) != CPU:
            return to(self, *args, **kwargs)
        cuda = is_cuda(target)
        if cuda and args:
            args = (args[0] if isinstance(args[0], torch.Tensor) else CPU, *args[1:])
        elif cuda and "device" in kwargs:
            kwargs["device"] = CPU
        elif torch.device(target).type not in ("cpu", "cuda"):
            return to(self, *args, **kwargs)
        # Another dtype or copy=True creates a new tensor, which the dispatch mode marks like
        # `self`.
        return _moved(to(self, *args, **kwargs), cuda)

    put(tensor, "to", move)
    put(tensor, "cpu", lambda self, **kwargs: move(self, "cpu", **kwargs))
    put(tensor, "cuda", lambda self, device=None, non_blocking=False, **kwargs: move(
        self, "cuda" if device is None else device, **kwargs))  # fmt: skip
    as_type = tensor.type

    def typed(self: torch.Tensor, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is None:
            return as_type(self).replace("torch.", "torch.cuda.") if on_gpu(self) else as_type(self)
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__qualname__", "")
        if not name.startswith("torch.cuda."):
            return as_type(self, dtype, **kwargs)
        return move(as_type(self, name.replace("torch.cuda.", "torch.")), CUDA)

    put(tensor, "type", typed)
    for kind in ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long",
                 "Bool"):  # fmt: skip
        name = f"{kind}Tensor"
        put(torch.cuda, name, _Typed(f"torch.cuda.{name}", (), {"of_cpu": getattr(torch, name)}))
    for name in ("numpy", "__array__"):
        put(tensor, name, _on_the_cpu_alone(getattr(tensor, name)))
    deepcopy = tensor.__deepcopy__
    put(tensor, "__deepcopy__",
        lambda self, memo: mark(deepcopy(self, memo), True) if on_gpu(self)
        else deepcopy(self, memo))  # fmt: skip
    put(tensor, "new_tensor", made_from_data(tensor.new_tensor))

    from_dlpack = torch.utils.dlpack.from_dlpack
    to_dlpack = torch.utils.dlpack.to_dlpack  # type: ignore[attr-defined]

    def aliased(source: Any, **kwargs: Any) -> torch.Tensor:
        if (kind := device_of_capsule(source)) is not None:
            cuda, kind.value = kind.value == KDL_CUDA, KDL_CPU
        else:
            cuda = source.__dlpack_device__()[0] == KDL_CUDA
        made = from_dlpack(source, **kwargs)
        return mark(made) if cuda else made

    for owner in (torch, torch.utils.dlpack):
        put(owner, "from_dlpack", aliased)
        put(owner, "to_dlpack", lambda x: GlobalTensor(x).__dlpack__() if on_gpu(x)
            else to_dlpack(x))  # fmt: skip


def patch_files(patches: Patches) -> None:
    """Make `torch.save` store "cuda:0" for tensors on "cuda", and make `torch.load` restore them on
    "cuda"."""
    tag, restore = torch.serialization.location_tag, torch.serialization.default_restore_location

    def restored(storage: Any, location: str) -> Any:
        cuda = str(location).startswith("cuda") and is_cuda(str(location))
        storage = restore(storage, "cpu" if cuda else location)
        if cuda:
            setattr(storage, CUDA_ATTRIBUTE, True)
        return storage

    patches.put(torch.serialization, "default_restore_location", restored)
    patches.put(torch.serialization, "location_tag", lambda storage: (
        str(CUDA) if getattr(storage, CUDA_ATTRIBUTE, False) else tag(storage)))  # fmt: skip


def _on_the_cpu_alone(original: Callable) -> Callable:
    def read(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if on_gpu(self) and kwargs.get("force"):
            self = self.detach().cpu()
        if on_gpu(self):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        return original(self, *args, **kwargs)

    return read


def _default_device() -> torch.device:
    """Return the device set by `with torch.device(…)` or set_default_device. (torch's own function
    calls torch.tensor.)"""
    modes = reversed(_get_current_function_mode_stack())
    return next((m.device for m in modes if isinstance(m, DeviceContext)), CPU)


def made_from_data(original: Callable) -> Callable:
    """Wrap `torch.tensor` and similar functions, which evaluate their device before a dispatch mode
    can change it."""

    def make(*args: Any, **kwargs: Any) -> torch.Tensor:
        device = kwargs.pop("device", None)
        like = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if device is None and original is not torch.tensor and like is not None:
            device = like.device
        if device is None:
            device = _default_device()
        if not is_cuda(device):
            return original(*args, device=device, **kwargs)
        wants_grad = kwargs.pop("requires_grad", False)
        made = original(*args, device=CPU, **kwargs)
        return _moved(made, True).requires_grad_(wants_grad or made.requires_grad)

    return make


def made_by_a_script(original: Callable) -> Callable:
    """Wrap `torch.zeros` and similar functions. They then accept a number as the device, and mark
    their CPU results as CPU tensors. (forgekit's tensors remain unmarked, so they can be combined
    with CPU and GPU tensors.)"""

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> torch.Tensor:
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        made = original(*args, **kwargs)
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if not on_gpu(made) and not caller.startswith("forgekit."):
            mark(made, False)
        return made

    return make
