"""Represent a student's function in the judge. The student's process compiles its kernels; the
judge runs them and counts their work."""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

import forgekit
from forgekit.compiling.backends import Artefacts, pack
from forgekit.compiling.compiled import CompiledKernel
from forgekit.compiling.parameters import Job, Parameter
from forgekit.compiling.specs import TensorSpec, spec
from forgekit.devices import current_target
from forgekit.lessons.classroom.student import FOLDER
from forgekit.lessons.classroom.values import LostError, RefFunction, reading
from forgekit.lessons.classroom.wire import JudgeEnd
from forgekit.lessons.gates.submission import Elsewhere
from forgekit.vgpu import Call

_CELL = re.compile(rf"{FOLDER}cell \[\d+\]")
_PACKAGE = Path(forgekit.__file__).parent


class RemoteFunction(RefFunction, Elsewhere):
    """The judge's proxy for a function in the student's process."""

    def __init__(self, peer: JudgeEnd, number: int, about: Mapping[str, Any]) -> None:
        super().__init__(peer, number, about)
        self.__name__ = str(about.get("name", "it"))
        self.__qualname__ = str(about.get("qualname", ""))
        file = str(about.get("file", ""))
        self.text = "".join(linecache.getlines(file)) if _CELL.fullmatch(file) else ""
        if "parameters" in about:
            self.__signature__ = inspect.Signature([
                inspect.Parameter(str(name), inspect._ParameterKind(kind),
                                  default=None if has else inspect.Parameter.empty)
                for name, kind, has in about["parameters"]
            ])  # fmt: skip

    def mistakes(self) -> list[str]:
        """Return the mistakes that `find_mistakes` reports in the student's process."""
        return [str(text) for text in self.peer.ask("mistakes", self)]

    def compiled(self, example: list[Any], arch: str | None) -> CompiledKernel:
        """Compile the function in the student's process, which receives the arguments' specs but
        never their values; return a kernel that runs in this process."""
        specs = [spec(a) if isinstance(a, torch.Tensor) else a for a in example]
        said = self.peer.ask("compile", self, specs, arch)
        with reading():
            held, ptx, name, kinds = said
            ptx, given = _with_known_files(str(ptx)), iter(example)
            parameters = tuple(_parameter(given, *kind) for kind in kinds)
        job = Job(self, parameters, current_target("virtual", arch), name=str(name))
        return CompiledKernel(job, Artefacts(ptx), _Launcher(job, held, ptx))


def _with_known_files(ptx: str) -> str:
    """Return the PTX without the `.file` directives that name neither a cell nor a file of
    forgekit.

    Error messages quote the source lines that PTX refers to, and this process can read files that
    the student must not see.
    """

    def kept(directive: re.Match[str]) -> str:
        file = os.path.normpath(directive[1] or "")
        known = _CELL.fullmatch(file) or Path(file).is_relative_to(_PACKAGE)
        return directive[0] if known else ""

    return re.sub(r'\.file\b(?:[ \t]+\d+[ \t]+"([^"\n]*)"[^\n]*)?[^\n]*', kept, ptx)


def _parameter(given: Iterator[Any], name: Any, kind: Any, scalar: Any) -> Parameter:
    """Decode a parameter. Its spec comes from this process's arguments, never from data of the
    student's process."""
    value = None if kind == "stream" else next(given, None)
    if isinstance(value, torch.Tensor | TensorSpec):
        return Parameter(str(name), "tensor", spec(value))
    if kind not in ("scalar", "constant", "stream"):
        raise ValueError(kind)
    return Parameter(str(name), kind, scalar if kind == "scalar" else value)


class _Launcher:
    """Runs a kernel that the student's process has compiled. That process returns the launches of a
    call without receiving tensor data; this process runs them on its virtual GPU."""

    def __init__(self, job: Job, held: Any, ptx: str) -> None:
        self.job, self.held, self.ptx = job, held, ptx

    def __call__(self, *args: Any) -> None:
        self.job.check_arguments(args)
        storages: dict[int, tuple[int, torch.UntypedStorage]] = {}  # by address
        layouts = [_layout(a, storages) if isinstance(a, torch.Tensor) else a for a in args]
        said = self.job.fn.peer.ask("launch", self.held, layouts)
        with reading():
            found, places = said
            moved = [(int(places[number]), storage.data_ptr(), storage.nbytes())
                     for number, storage in storages.values()]  # fmt: skip
            found = [_launch(*launch) for launch in found]
        tensors = zip(self.job.runtime, args, strict=True)
        call = Call((p.name, pack(a, p.value)) for p, a in tensors if p.kind == "tensor")
        translated = functools.partial(_translated, moved=moved)
        for name, params, options in found:
            if not call.launch(self.ptx, name, params, translated, **options):
                raise LostError(f"it launched {name:.80}, which its PTX does not contain")
        call.finish()


def _launch(name: Any, grid: Any, block: Any, shared: Any, params: Any, cluster: Any,
            cooperative: Any) -> tuple[str, bytes, dict[str, Any]]:  # fmt: skip
    """Validate a launch that the student's process sent, and return it."""
    dims = {"grid": grid, "block": block, "cluster": cluster}
    options = {key: (int(x), int(y), int(z)) for key, (x, y, z) in dims.items()}
    more = {"shared_bytes": int(shared), "cooperative": bool(cooperative)}
    return str(name), bytes(memoryview(params)), {**options, **more}


def _layout(x: torch.Tensor, storages: dict[int, tuple[int, torch.UntypedStorage]]) -> Any:
    storage = x.untyped_storage()
    number, _ = storages.setdefault(storage.data_ptr(), (len(storages), storage))
    layout = x.dtype, tuple(x.shape), tuple(x.stride()), x.storage_offset()
    return (*layout, number, storage.nbytes())


def _translated(params: bytes, slots: Any, moved: list[tuple[int, int, int]]) -> bytes:
    """Replace pointers to tensors in the student's process with pointers to this process's tensors;
    keep all other values."""
    words = bytearray(params)
    for at in slots:
        value = int.from_bytes(words[at : at + 8], "little")
        for there, here, size in moved:
            if value and there <= value < there + max(size, 1):
                words[at : at + 8] = (value - there + here).to_bytes(8, "little")
                break
    return bytes(words)
