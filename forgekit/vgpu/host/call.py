"""Run or record the launches of a call to a host function.

with Call.without_running() as launches:
    run(x, y)                                # in one process
call = Call([("mX", packed_x), ("mY", packed_y)])
for launch in launches:
    call.launch(ptx, launch.kernel, …)       # in another
call.finish()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from forgekit.vgpu import program
from forgekit.vgpu.host import arguments, launching
from forgekit.vgpu.launch_record import Dim3, LaunchRecord
from forgekit.vgpu.memory import GlobalMemory


class Call:
    """Runs the launches of a call on tensors in this process.

    tensors: pairs of a parameter's name and a tensor from `HOST.pack`.
    """

    def __init__(self, tensors: Iterable[tuple[str, object]]) -> None:
        self._memory = GlobalMemory()
        arguments.register(self._memory, tensors)

    def launch(
        self,
        ptx: str,
        kernel: str,
        params: bytes,
        translate: Callable[[bytes, Sequence[int]], bytes],
        *,
        grid: Dim3,
        block: Dim3,
        cluster: Dim3 = (1, 1, 1),
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> bool:
        """Launch a kernel from the PTX. Return False if the PTX does not contain it, or if its
        parameters have a different size.

        translate: a function that receives the parameters and the offsets that may contain a
        pointer, and returns the parameters with pointers into this process's tensors.

        Raises:
            KernelError: the kernel was stopped.
        """
        code = program.load(ptx).get(kernel)
        if code is None or len(params) != code.param_bytes:
            return False
        params = translate(params, code.pointer_slots)
        params = launching.translate_pointers(params, self._memory, code.pointer_slots)
        record = LaunchRecord(kernel, grid, block, shared_bytes, params, cluster, cooperative)
        launching.launch(code, record, self._memory)
        return True

    def finish(self) -> None:
        """End the call, and let the sanitizer report the elements that are still unwritten."""
        launching.finish_call(self._memory)

    @staticmethod
    @contextmanager
    def without_running() -> Iterator[list[LaunchRecord]]:
        """Record the launches within the `with` block, with the host code's parameters, instead of
        running them."""
        found: list[LaunchRecord] = []

        def add(kernel: Any, launch: LaunchRecord, memory: Any) -> None:
            found.append(launch)

        with mock.patch.multiple(
            launching, launch=add, translate_pointers=lambda params, memory, slots: params,
            finish_call=lambda memory: None,
        ):  # fmt: skip
            yield found
