"""Run a compiled kernel again on copies of its arguments, on the virtual GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forgekit.errors import UsageError, got_needed

if TYPE_CHECKING:
    import torch

    from forgekit.compiling.compiled import CompiledKernel

__all__ = ["Replay"]


class Replay:
    """A kernel with the arguments of one call; every `run` starts from what they hold now."""

    def __init__(self, kernel: CompiledKernel, args: tuple[Any, ...], who_asks: str) -> None:
        from forgekit.compiling.compiled import CompiledKernel
        from forgekit.compiling.parameters import bind_call

        if not isinstance(kernel, CompiledKernel):
            remedy = f"compile it first: run = fk.compile(copy, x, y); fk.{who_asks}(run, x, y)"
            raise UsageError(got_needed(who_asks, kernel, "a compiled kernel", remedy))
        self.parameters = [p for p in kernel.parameters if p.kind in ("tensor", "scalar")]
        if len(args) != len(self.parameters):
            args = bind_call(kernel.name, kernel.parameters, args, {})
        self.kernel = kernel.on_virtual_gpu()
        self.args = args

    def run(self, **options: Any) -> dict[str, torch.Tensor]:
        """Run once with these options of `forgekit.vgpu.options`; the tensors after it, by name.

        Raises:
            KernelError: what the kernel did wrong.
        """
        import torch

        from forgekit import vgpu

        storages: dict[tuple[str, int], torch.UntypedStorage] = {}
        copies = [copy_argument(a, storages) for a in self.args]
        with vgpu.options(**options):
            self.kernel(*copies)
        return {
            p.name: value
            for p, value in zip(self.parameters, copies, strict=True)
            if isinstance(value, torch.Tensor)
        }


def copy_argument(value: Any, storages: dict[tuple[str, int], torch.UntypedStorage]) -> Any:
    """A tensor's copy on the CPU, laid out as it is; tensors that share memory still do.

    storages: copies made so far, by device and address; the caller starts with an empty one. What
    of the original nobody has written yet, nobody has written in the copy either.
    """
    import torch

    from forgekit.vgpu import fresh

    if not isinstance(value, torch.Tensor):
        return value
    original = value.untyped_storage()
    key = (str(value.device), original.data_ptr())
    if key not in storages:
        storages[key] = original.clone() if value.device.type == "cpu" else original.cpu()
    layout = value.storage_offset(), value.size(), value.stride()
    copy = torch.empty(0, dtype=value.dtype).set_(storages[key], *layout)
    fresh.copy_marks(value, copy)
    return copy
