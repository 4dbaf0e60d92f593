"""Stored configurations: when they are used, when not, and that no file breaks a result."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from forgekit import ops
from forgekit.devices import use_target
from forgekit.errors import PlatformError, UsageError
from forgekit.ops import softmax, tuned
from forgekit.ops.operators import plan
from forgekit.ops.row_limits import RowProblem
from forgekit.ops.softmax import _softmax
from forgekit.ops.tile_choice import RowChoice, choose_rows

ARCH = "sm_90a"
NAME = f"virtual GPU ({ARCH})"
SHARED = 227 * 1024
SHAPE = (6, 1024)
ROWS = RowProblem("softmax", *SHAPE, "float16", 8, False)
TABLE = choose_rows("softmax", *SHAPE, 2, 8, False, 16)
OTHER = RowChoice("registers", 64, 2, 2, 8, whole=2)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path))
    tuned._warn_once.cache_clear()
    tuned.forget()
    with use_target("virtual", ARCH):
        yield tmp_path
    tuned.forget()


def entry(choice: RowChoice) -> dict[str, Any]:
    return {"choice": dataclasses.asdict(choice)}


def store(choice: RowChoice = OTHER, problem: RowProblem = ROWS) -> Path:
    tuned.keep(NAME, tuned.key(problem), entry(choice))
    return tuned.file_to_keep(NAME)


def asked(problem: RowProblem = ROWS, arch: str = ARCH) -> RowChoice | None:
    return tuned.tuned_rows(problem, arch)


def used() -> RowChoice:
    """What the operator's launcher compiled for the rows, after its result was found right."""
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0)).half()
    torch.testing.assert_close(softmax(x), x.softmax(-1))
    place = x.stride(), x.data_ptr() % 16
    run: Any = plan(_softmax, (-1, None), ARCH, x.dtype, x.shape, *place)[0]
    names = {f.name for f in dataclasses.fields(run.fn.tile)}
    fields = {f.name for f in dataclasses.fields(RowChoice)} & names
    kernel: Any = {"Softmax": "registers", "StagedSoftmax": "shared"}[type(run.fn).__name__]
    return RowChoice(kernel=kernel, **{name: getattr(run.fn.tile, name) for name in fields})


# -- looking up -----------------------------------------------------------------------------------
def test_an_entry_is_used_by_the_operator_and_the_table_without_it() -> None:
    assert TABLE != OTHER
    assert used() == TABLE
    store()
    assert used() == OTHER
    tuned.keep(NAME, tuned.key(ROWS), None)
    assert used() == TABLE


@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_the_off_switch(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    store()
    monkeypatch.setenv("FORGEKIT_TUNING", word)
    tuned.forget()
    assert used() == TABLE
    with pytest.raises(UsageError, match=f"FORGEKIT_TUNING: got {word}"):
        store()


def test_an_entry_is_for_its_rows_alone() -> None:
    store()
    assert asked() == OTHER
    for change in (
        {"op": "softmax_backward"}, {"rows": 7}, {"size": 1032}, {"dtype": "bfloat16"},
        {"vector": 1}, {"unaligned": True},
    ):  # fmt: skip
        assert asked(dataclasses.replace(ROWS, **change)) is None, change
    assert asked(arch="sm_80") is None


def test_many_rows_share_an_entry_up_to_twice_as_many() -> None:
    many = dataclasses.replace(ROWS, rows=9000)
    store(problem=many)
    found = {rows: asked(dataclasses.replace(ROWS, rows=rows)) for rows in (8191, 8192, 16383)}
    assert found == {8191: None, 8192: OTHER, 16383: OTHER}
    assert asked(dataclasses.replace(ROWS, rows=16384)) is None


def test_a_file_is_read_once_until_it_is_written_here() -> None:
    file = store()
    assert asked() == OTHER
    file.write_text("{")
    assert asked() == OTHER
    with pytest.warns(UserWarning, match="cannot be read"):
        tuned.forget()
        assert asked() is None


# -- files that do not count ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"gpu": "x", "entries": []}', "cannot be read"),
        ("\x00\xff", "cannot be read"),
        ({"kernels": "0"}, "other kernels, another table"),
        ({"dsl": "1.0"}, "another CuTe DSL"),
        ({"version": 0}, "made for other"),
        ("[" * 100_000, "RecursionError"),
    ],
)
def test_a_file_that_does_not_count_is_told_once_and_replaced(
    text: str | dict[str, Any], said: str
) -> None:
    file = store()
    if isinstance(text, dict):
        text = json.dumps(json.loads(file.read_text()) | text)
    file.write_bytes(text.encode("latin-1"))
    with pytest.warns(UserWarning, match=said) as found:
        assert asked() is None
        tuned.forget()
        assert used() == TABLE
    assert len(found) == 1
    store()
    assert used() == OTHER


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threads": 32}, "rows too long"),
        ({"threads": 48, "loads": 3, "whole": 0}, "neither whole warps nor a power of two"),
        ({"threads": 16, "rows": 3, "loads": 8}, "no whole warps in a block"),
        ({"threads": 128, "rows": 16, "whole": 0}, "too many threads"),
        ({"threads": 128}, "more whole loads"),
        ({"threads": 0}, "whole numbers"),
        ({"threads": "64"}, "whole numbers"),
        ({"threads": True}, "whole numbers"),
        ({"whole": -1}, "whole numbers"),
        ({"whole": True}, "whole numbers"),
        ({"loads": 16, "whole": 0}, "too many elements a thread"),
        ({"kernel": "streaming", "threads": 1024, "cluster": 32, "whole": 0}, "too many"),
        ({"cluster": 3, "whole": 0}, "not a power of two"),
        ({"cluster": 2, "rows": 2, "whole": 0}, "several rows a block"),
        ({"cluster": 4, "threads": 16, "rows": 1}, "no whole warps"),
        ({"split": 2, "rows": 1, "whole": 0}, "second step"),
        ({"kernel": "shared", "threads": 512, "loads": 16, "whole": 0}, "shared memory"),
        ({"kernel": "sum"}, "another operator"),
        ({"vector": 4, "threads": 128}, "other accesses"),
        ({"unaligned": True, "whole": 0}, "other accesses"),
        ({"color": 1}, "TypeError"),
        (None, "TypeError"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_right_is_told_once_and_ignored(
    change: dict[str, Any] | None, said: str
) -> None:
    bad: Any = {"choice": change and entry(OTHER)["choice"] | change}
    tuned.keep(NAME, tuned.key(ROWS), bad)
    with pytest.warns(UserWarning, match=said) as found:
        assert asked() is None and asked() is None
    assert len(found) == 1


def test_other_kernels_are_noticed_by_their_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = tuned.header()
    assert all(any(Path(ops.__file__).parents[1].glob(names)) for names in tuned.SOURCES)
    monkeypatch.setattr(tuned, "SOURCES", (*tuned.SOURCES, "ref.py"))
    after = tuned.header.__wrapped__()
    assert {name for name in before if before[name] != after[name]} == {"kernels"}


# -- files ----------------------------------------------------------------------------------------
def _store_many(where: Path, who: int, together: Any) -> None:
    os.environ["FORGEKIT_TUNING"] = str(where)
    tuned.header()
    together.wait(60)
    for k in range(100):
        tuned.keep(NAME, f"{who} {k}", entry(OTHER))


@pytest.mark.weekly
def test_processes_that_store_at_once_lose_nothing(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    workers = [context.Process(target=_store_many, args=(folder, k, together)) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    file = tuned.file_to_keep(NAME)
    assert len(json.loads(file.read_text())["entries"]) == 200
    assert sorted(f.name for f in folder.iterdir()) == [f".{file.name}.lock", file.name]


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORGEKIT_TUNING", str(tmp_path / "file" / "below"))
    with pytest.raises(PlatformError, match="FORGEKIT_TUNING"):
        store()


def test_what_it_did_not_write_is_set_aside_and_never_removed(folder: Path) -> None:
    file = store()
    file.write_text("{}")
    (folder / ".lock").write_text("of another program")
    with pytest.warns(UserWarning, match="cannot be read"):
        assert used() == TABLE
    assert store() == file and used() == OTHER
    assert file.with_suffix(".unreadable.json").read_text() == "{}"
    file.unlink()
    os.mkfifo(file)
    tuned.forget()
    with pytest.warns(UserWarning, match="not a regular file"):
        assert asked() is None
    assert (folder / ".lock").read_text() == "of another program"


def test_nothing_is_warned_of_what_is_right() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asked() is None
        store()
        assert asked() == OTHER
