"""Test the suites on Modal by calling its function locally. If Modal is not installed, fakes
replace the names that the module imports from it."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from forgekit.benching.suites.running import Settings, run_cases
from forgekit.benching.suites.suite import Case
from forgekit.commands.bench import bench
from forgekit.errors import UsageError

CASES = [Case("copy_transpose", (n, 40), "float32") for n in (8, 33)]
SETTINGS = Settings(device="virtual")


class _Image:
    def __getattr__(self, name: str) -> Callable[..., _Image]:
        return lambda *args, **options: self


class _App:
    def __init__(self, name: str) -> None:
        pass

    def function(self, **options: Any) -> Callable[[Any], Any]:
        return lambda function: types.SimpleNamespace(local=function, remote_gen=function)

    def local_entrypoint(self) -> Callable[[Any], Any]:
        return lambda function: function


@pytest.fixture
def modal_app(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    if importlib.util.find_spec("modal") is None:
        stand_in = types.ModuleType("modal")
        vars(stand_in).update(App=_App, Image=types.SimpleNamespace(debian_slim=lambda v: _Image()),
                              is_local=lambda: True)  # fmt: skip
        monkeypatch.setitem(sys.modules, "modal", stand_in)
    monkeypatch.delitem(sys.modules, "forgekit.commands.modal_app", raising=False)
    yield importlib.import_module("forgekit.commands.modal_app")
    sys.modules.pop("forgekit.commands.modal_app", None)


def test_the_function_runs_the_cases(modal_app):
    found = list(modal_app.measure.local(CASES, SETTINGS))
    assert found == list(run_cases(CASES, SETTINGS))
    assert [outcome.rows[0].status for _, outcome in found] == ["ok", "ok"]


def test_the_command_measures_there_and_reports_here(modal_app, tmp_path, capsys):
    sent: list[Any] = []

    def there(cases: list[Case], settings: Settings) -> Any:
        sent.append((cases, settings))
        return modal_app.measure.local(cases, settings)

    out = tmp_path / "results.json"
    options = ["--suite", "smoke", "--op", "copy_transpose", "--dtype", "float32"]
    assert bench.main([*options, "--out", str(out)], obj=there, standalone_mode=False) == 0
    [(cases, settings)] = sent
    assert {c.op for c in cases} == {"copy_transpose"} and settings.device is None
    assert len(json.loads(out.read_text())["rows"]) == len(cases)
    assert "## copy_transpose" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--host-times"], ["--scheduler", "local:2"]])
def test_what_does_not_go_together(modal_app, options):
    with pytest.raises(UsageError, match="--scheduler or --host-times"):
        bench.main(options, obj=modal_app.measure.local, standalone_mode=False)
