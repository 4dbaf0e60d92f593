"""Test progress: several processes write to the same file, which may be in any state."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from forgekit import course, shared_files
from forgekit.lessons import records
from forgekit.lessons.exercise import all_exercises, exercise
from forgekit.lessons.progress import Progress, progress
from forgekit.lessons.records import Record, changing, forget, record

NAME, OTHER = "week0/scale", "week0/reverse"


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "progress.json"
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(path))
    monkeypatch.setattr(records, "_memory", {})
    monkeypatch.setattr(records, "_unwritable", set())
    return path


def change(name: str, edit: Callable[[Record], None]) -> None:
    with changing(name) as known:
        edit(known)


def tried(known: Record) -> None:
    known.tries += 1


def passed(known: Record) -> None:
    known.tries += 1
    known.passed_at_try = known.tries


def test_a_change_is_kept_in_the_file_and_nothing_else_is_left(file):
    assert record(NAME) == Record()
    change(NAME, tried)
    assert record(NAME) == Record(tries=1)
    change(NAME, passed)
    change(OTHER, tried)
    assert record(NAME) == Record(tries=2, passed_at_try=2) and record(NAME).passed
    assert not record(OTHER).passed
    kept = json.loads(file.read_text())
    assert kept["version"] == 1 and kept["exercises"][NAME]["tries"] == 2
    assert {p.name for p in file.parent.iterdir()} == {"progress.json", ".progress.json.lock"}


def test_an_exercise_is_forgotten_alone_and_a_reset_forgets_all(file):
    change(NAME, passed)
    change(OTHER, passed)
    forget({NAME})
    assert record(NAME) == Record() and record(OTHER).passed
    progress().reset()
    assert not record(OTHER).passed and json.loads(file.read_text())["exercises"] == {}


def test_another_file_knows_nothing_of_the_first(file, monkeypatch):
    change(NAME, passed)
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(file.with_name("other.json")))
    assert not record(NAME).passed
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(file))
    assert record(NAME).passed
    file.unlink()
    assert not record(NAME).passed


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_off_keeps_progress_in_memory_only(word, file, monkeypatch):
    monkeypatch.setenv("FORGEKIT_PROGRESS", word)
    change(NAME, passed)
    change(OTHER, tried)
    assert record(NAME).passed and record(OTHER).tries == 1
    assert records.path() is None and not file.exists() and not Path(word).exists()
    progress().reset()
    assert record(NAME) == Record()


def test_the_file_lies_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("FORGEKIT_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert records.path() == tmp_path / "data" / "forgekit" / "progress.json"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert records.path() == tmp_path / ".local/share/forgekit/progress.json"
    monkeypatch.setenv("FORGEKIT_PROGRESS", "~/mine.json")
    assert records.path() == tmp_path / "mine.json"


DAMAGED = [
    b"",
    b'{"version": 1, "exercises": {"week0/sc',
    b"\xff\xfe\x00",
    b"[]",
    b'{"version": 2, "exercises": {}}',
    b'{"exercises": {}}',
    b'{"version": 1, "exercises": [1]}',
    b'{"version": 1, "exercises": {"week0/scale": {"tries": "two"}}}',
    b'{"version": 1, "exercises": {"week0/scale": 3}}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_file_that_cannot_be_read_is_set_aside_with_a_warning(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    aside = file.with_name("progress.unreadable.json")
    with pytest.warns(UserWarning, match=r"cannot be read .* renamed to progress.unreadable.json"):
        assert record(NAME) == Record()
    assert aside.read_bytes() == content
    change(NAME, passed)
    assert record(NAME).passed and aside.read_bytes() == content
    file.write_bytes(b"again")  # the second damaged file does not replace the first
    with pytest.warns(UserWarning, match="progress.unreadable-2.json"):
        assert record(NAME) == Record()
    assert aside.read_bytes() == content


@pytest.mark.parametrize("content", [b"{}", b"\\chapter{One}", b"[" * 100_000])
def test_a_file_of_something_else_is_left_alone(file, monkeypatch, content):
    file.parent.mkdir()
    thesis, lock = file.with_name("thesis.tex"), file.with_name("thesis.lock")
    thesis.write_bytes(content)
    lock.write_bytes(b"of another program")
    monkeypatch.setenv("FORGEKIT_PROGRESS", str(thesis))
    with pytest.warns(UserWarning, match="contains something else.*Set FORGEKIT_PROGRESS"):
        change(NAME, passed)
    change(OTHER, tried)
    assert record(NAME).passed and record(OTHER).tries == 1
    assert thesis.read_bytes() == content and lock.read_bytes() == b"of another program"


def test_a_fifo_blocks_nobody(file):
    file.parent.mkdir()
    for name in ("progress.json", ".progress.json.lock"):
        os.mkfifo(file.with_name(name))
    with pytest.warns(UserWarning, match="not a regular file"):
        change(NAME, passed)
    assert record(NAME).passed and file.is_fifo()


def test_a_link_stays_a_link(file, tmp_path):
    file.parent.mkdir()
    file.symlink_to(tmp_path / "synchronised.json")
    change(NAME, passed)
    assert file.is_symlink() and record(NAME).passed


def test_threads_lose_nothing(file, monkeypatch):
    for where in (str(file), "off"):
        monkeypatch.setenv("FORGEKIT_PROGRESS", where)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: change(NAME, tried), range(100)))
        assert record(NAME).tries == 100


def test_a_field_of_tomorrow_is_no_reason_to_begin_again(file):
    file.parent.mkdir()
    known = {"tries": 3, "stars": 5}
    file.write_text(json.dumps({"version": 1, "exercises": {NAME: known, "week9/x": {}}}))
    assert record(NAME) == Record(tries=3)
    assert len(progress().rows) == len(all_exercises())  # omits exercises that were removed


def test_a_write_that_fails_leaves_the_file_as_it_was(file, monkeypatch):
    change(NAME, tried)
    before = file.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared_files.os, "replace", full)
    with pytest.warns(UserWarning, match="cannot be written"):
        change(NAME, passed)
    assert file.read_bytes() == before
    assert {p.name for p in file.parent.iterdir()} == {"progress.json", ".progress.json.lock"}


@pytest.mark.parametrize("there_before", [True, False])
def test_where_nothing_can_be_written_it_warns_once_and_goes_on(file, there_before, monkeypatch):
    if there_before:
        change(OTHER, passed)

    def refused(*_: object, **__: object) -> None:  # a folder that root may not write to
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shared_files, "create_beside", refused)
    with pytest.warns(UserWarning, match="kept only until this .*Set FORGEKIT_PROGRESS"):
        change(NAME, tried)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        change(NAME, tried)
        assert record(NAME).tries == 2 and record(OTHER).passed == there_before


def test_what_was_kept_in_memory_is_written_once_that_can_be_done(file, monkeypatch):
    with monkeypatch.context() as m, pytest.warns(UserWarning):
        m.setattr(shared_files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
        change(NAME, passed)
    change(OTHER, tried)
    assert set(json.loads(file.read_text())["exercises"]) == {NAME, OTHER}
    assert record(NAME).passed


WRITER = """
import sys
from forgekit.lessons.records import changing
for k in range(25):
    for name in ("scale", sys.argv[1]):
        with changing(f"week0/{name}") as known:
            known.tries += 1
"""


def test_several_processes_writing_at_once_lose_nothing(file):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(k)]) for k in range(3)]
    assert [w.wait(60) for w in writers] == [0, 0, 0]
    assert record(NAME).tries == 75
    assert [record(f"week0/{k}").tries for k in range(3)] == [25, 25, 25]
    json.loads(file.read_text())


# -- the card -------------------------------------------------------------------------------------
def test_a_week_says_what_was_passed_and_with_what_help():
    change(NAME, passed)
    for _ in range(3):
        change(OTHER, tried)
    exercise(OTHER).hint()
    exercise(OTHER).solution()
    week = progress("week0")
    count = len([e for e in all_exercises() if e.week == "week0"])
    assert week.passed == 1 and repr(week).startswith(f"Kernel Forge: 1 of {count} exercises")
    lines = [" ".join(line.split()) for line in repr(week).splitlines()]
    assert "week0/scale scale a vector passed on the first try" in lines
    assert "week0/reverse reverse a vector open after 3 tries 1 hint, solution" in lines
    assert lines[-1].startswith("Next: week0/reverse in 00_start_here")
    shown = week._repr_mimebundle_()
    assert shown["text/plain"] == repr(week)
    assert (
        ">open after 3 tries</td>" in shown["text/html"]
        and shown["text/html"].count("<tr ") == count
    )
    change(OTHER, passed)
    exercise(OTHER).hint()
    assert "passed on try 4" in repr(progress("week0"))
    assert "2 hints, solution" in repr(progress("week0"))


def test_all_weeks_have_a_mark_for_each_exercise_and_count_all_help():
    nothing = progress()
    assert len(nothing.weeks) > 1 and repr(nothing).count("not started") == len(nothing.weeks)
    assert nothing._repr_mimebundle_()["text/html"].count('<span title="week') == len(nothing.rows)
    change(NAME, passed)
    exercise(OTHER).hint()
    exercise(OTHER).solution()
    change(OTHER, passed)
    change("week1/tree_max", passed)
    card = progress()
    heading, _, week0, bar, marks, *rest = repr(card).splitlines()
    whole = sum(e.is_whole_kernel for e in all_exercises())
    assert heading == (
        f"Kernel Forge: 3 of {len(card.rows)} exercises passed, 1 of {whole} whole kernels written"
    )
    assert week0.startswith("Week 0: copy and transpose: 2 of ")
    assert bar == (f"  {'█':░<20}  2 on the first try, 2 tries in total, 1 hint, "
                   "1 solution seen before a pass")  # fmt: skip
    assert marks.split() == ["00_start_here", "2/3", "●◐·"]
    assert any("02_shuffle" in line for line in rest) and any("■" in line for line in rest)
    assert not any(len(line) > 100 for line in repr(card).splitlines())


def test_its_links_lead_to_the_notebooks_from_where_one_is(monkeypatch):
    for folder in [course.find_course(), *course.week_folders(course.find_course())]:
        monkeypatch.chdir(folder)
        html = progress()._repr_mimebundle_()["text/html"]
        links = re.findall(r'<a href="([^"]+)">(\w+)</a>', html)
        assert {name for _, name in links} == {e.notebook for e in all_exercises()}
        assert links[0][1] == "00_start_here"  # the next exercise
        assert [link for link, name in links if Path(link).resolve().stem != name] == []
        assert all(Path(link).is_file() for link, _ in links)


def test_the_day_of_a_pass_shows_where_it_was_recorded():
    change(NAME, passed)  # in an older version's format
    assert "Latest pass" not in repr(progress())
    exercise("week0/four_loads").grade(exercise("week0/four_loads").reference())
    on = record("week0/four_loads").passed_on
    assert on == date.today().isoformat() and f"Latest pass: {on}." in repr(progress())
    exercise("week0/four_loads").reset()
    assert record("week0/four_loads") == Record()


def test_the_course_s_own_solution_is_no_pass():
    assert exercise(NAME).grade(exercise(NAME).reference())
    assert not record(NAME).passed


def test_the_last_pass_and_a_folder_without_exercises():
    for e in all_exercises():
        change(e.name, passed)
    assert repr(progress()).endswith("\n\nAll exercises passed.")
    assert "No exercises found here" in repr(Progress(()))
    assert "No exercises found here" in Progress(())._repr_mimebundle_()["text/html"]
