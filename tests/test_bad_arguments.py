"""Test that every public function returns or raises one of forgekit's own exceptions.

The tests make one in five of the calls from `bad_arguments`; with FORGEKIT_SWEEP=all they make all
calls, which takes a minute.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit.ops import backends
from tests import bad_calls
from tests.bad_arguments import attempts, problem

ONE_IN = 1 if os.environ.get("FORGEKIT_SWEEP") == "all" else 5
GIB = 2**30


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a separate folder, cache and backends, and limit their memory to 1 GiB beyond
    the current use."""
    folder = tmp_path_factory.mktemp("bad_arguments")
    known = {op: dict(table) for op, table in backends.functions.items()}
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's warnings about sparse and quantized tensors
        patch.setenv("FORGEKIT_CACHE_DIR", str(folder / "cache"))
        patch.setenv("FORGEKIT_PROGRESS", "off")
        patch.setenv("FORGEKIT_DEVICE", "virtual")
        patch.chdir(folder)
        if sys.platform == "linux":
            used = Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]
            resource.setrlimit(resource.RLIMIT_DATA, (int(used) * 1024 + GIB, limits[1]))
        yield
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    for op, table in known.items():
        backends.functions[op].clear()
        backends.functions[op].update(table)


@pytest.fixture(scope="module")
def kernel(sandbox: None) -> tuple[Any, ...]:
    return bad_calls.compiled()


@pytest.mark.parametrize("home", bad_calls.HOMES)
def test_nothing_but_errors_of_forgekit(home: str, kernel: tuple[Any, ...]) -> None:
    calls = [a for right in bad_calls.HOMES[home](kernel) for a in attempts(right, ONE_IN)]
    wrong = {a.name: found for a in calls if (found := problem(a))}
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())
    assert len(calls) > 200


def test_every_public_function_is_tried(kernel: tuple[Any, ...]) -> None:
    """Check that the table of calls contains every public function of `forgekit`."""
    tried = {id(right.of) for make in bad_calls.HOMES.values() for right in make(kernel)}
    for home in bad_calls.MODULES:
        for name in home.__all__:
            made = getattr(home, name)
            if callable(made) and not isinstance(made, type) and name not in bad_calls.NOT_TRIED:
                assert id(made) in tried, f"{home.__name__}.{name}"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run, x, y: run(x, y, 1.0, y), r"argument n: got a float32 tensor of shape \(64,\)"),
        (lambda run, x, y: fk.coalescing(run, x, y, 1.0, warps=10**30),
         r"coalescing, warps: got 10+, needed a whole number from 1 to 32; leave it out for 1"),
        (lambda run, x, y: fk.spec(None), "tensor: got None, needed a torch tensor"),
        (lambda run, x, y: fk.spec(x, names=3), "names: got 3, needed a list"),
        (lambda run, x, y: fk.check(y, y, rtol="abc"),
         "check, rtol: got 'abc', needed a number of 0 or more; leave it out, or pass an int"),
        (lambda run, x, y: fk.progress([]), r"week: got \[\], needed one of "),
        (lambda run, x, y: fk.arange(0, 5, -1), "arange: got start=0, end=5, step=-1"),
        (lambda run, x, y: fk.full(4, 300, dtype=torch.uint8), "value: got 300, needed a numb"),
        (lambda run, x, y: fk.randn(4, seed=True), "randn, seed: got True, needed a whole number"),
        (lambda run, x, y: fk.zeros(2**40), "tensor: got 4,096.0 GiB of torch.float32"),
        (lambda run, x, y: fk.rand(4, sed=1), r"'sed'; write rand\(\*shape, dtype=.*, seed=0, dev"),
        (lambda run, x, y: fk.profile(run, x.to_sparse(), y, 1.0),
         r"argument mX: got a sparse tensor, needed a dense .*; convert it with .to_dense\(\)"),
        (lambda run, x, y: run(x.to("meta"), y, 1.0), "argument mX: got a tensor on meta"),
    ],
)  # fmt: skip
def test_words(call: Any, words: str, kernel: tuple[Any, ...]) -> None:
    run, x, y, _ = kernel
    with pytest.raises(fk.ForgekitError, match=words):
        call(run, x, y)
