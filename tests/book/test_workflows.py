"""The workflows of GitHub Actions: they parse, and call what is there."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from forgekit.commands.cli import forgekit

yaml = pytest.importorskip("yaml", reason="PyYAML is missing: uv sync")

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_there_are_four() -> None:
    assert [p.stem for p in WORKFLOWS] == ["book", "gpu", "newest", "tests"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_shape(path: Path) -> None:
    workflow = read(path)
    triggers = workflow[True]  # YAML 1.1 reads `on` as true
    assert triggers and workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["steps"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+\.\d+)?", step.get("uses", "a/b@v1"))
            # Since its version 8 there are no tags such as `v8`.
            assert not re.fullmatch(r"astral-sh/setup-uv@v([89]|\d\d+)", step.get("uses", ""))
            # What others write into a pull request or a form must not become part of a command.
            assert "github.event" not in step.get("run", "") and "inputs" not in step.get("run", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.stem)
def test_commands_are_there(path: Path) -> None:
    for step in steps(path):
        for line in step.get("run", "").splitlines():
            words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "X", line))
            if "forgekit" in words:
                name, *rest = words[words.index("forgekit") + 1 :]
                forgekit.get_command(click.Context(forgekit), name).make_context(name, rest)
            if words[:1] == ["bash"]:
                assert (ROOT / words[1]).is_file()
            if "--extra" in words:
                project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
                extras = project["project"]["optional-dependencies"]
                assert words[words.index("--extra") + 1] in extras


def test_oldest_python_is_the_one_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    job = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]
    oldest = job["strategy"]["matrix"]["python"][0]
    assert project["requires-python"] == f">={oldest}"


def test_the_container_has_the_environment_that_the_editor_takes() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    folder = container["containerEnv"]["UV_PROJECT_ENVIRONMENT"]
    settings = container["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"] == f"{folder}/bin/python"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (version,) = re.findall(r"python:3\.(\d+)-", container["image"])
    assert int(version) >= int(project["requires-python"].removeprefix(">=3."))


def test_a_pull_request_is_tested_once() -> None:
    triggers = read(ROOT / ".github" / "workflows" / "tests.yml")[True]
    assert triggers == {"push": {"branches": ["main"]}, "pull_request": None}


def test_the_recipe_for_classes_is_tested() -> None:
    commands = [step.get("run") for step in steps(ROOT / ".github" / "workflows" / "tests.yml")]
    test = (ROOT / "tests" / "lab" / "test_hub.py").read_text(encoding="utf-8")
    (command,) = re.findall(r'^MISSING = "(.+)"$', test, flags=re.MULTILINE)
    assert command in commands


def test_a_deployment_is_not_cut_off() -> None:
    workflow = read(ROOT / ".github" / "workflows" / "book.yml")
    assert workflow["concurrency"]["cancel-in-progress"] is False


def test_the_pages_come_from_where_the_book_is_built() -> None:
    uploads = [s for s in steps(ROOT / ".github" / "workflows" / "book.yml")
               if "upload-pages" in s.get("uses", "")]  # fmt: skip
    assert [s["with"]["path"] for s in uploads] == ["book/_build/html"]
