"""Test that the workflows for GitHub Actions and GitHub's other files parse, and that the commands
in them exist.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from forgekit.commands.cli import forgekit
from forgekit.course import WEEKS

yaml = pytest.importorskip("yaml", reason="PyYAML is missing: uv sync")

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_there_are_five() -> None:
    assert [p.stem for p in WORKFLOWS] == ["book", "gpu", "newest", "release", "tests"]


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
            # Since version 8, this action has no major-version tags such as `v8`.
            assert not re.fullmatch(r"astral-sh/setup-uv@v([89]|\d\d+)", step.get("uses", ""))
            # Text from a pull request or a form must not be inserted into a command.
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


def test_every_week_runs_on_a_gpu() -> None:
    commands = [step.get("run", "") for step in steps(ROOT / ".github" / "workflows" / "gpu.yml")]
    assert f"uv run pytest --nbval-lax {' '.join(WEEKS)}" in commands


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
@pytest.mark.parametrize(("head", "ok"), [("[0.1.0] - 2026-11-30", True), ("[Unreleased]", False)])
def test_a_release_needs_a_dated_section(tmp_path: Path, head: str, ok: bool) -> None:
    (script,) = [step["run"] for step in steps(ROOT / ".github" / "workflows" / "release.yml")
                 if step.get("name") == "notes"]  # fmt: skip
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"## {head}\n- new\n## [0.0.1] - 2025-01-01\n- old\n")
    environment = {**os.environ, "GITHUB_ENV": str(tmp_path / "env")}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment)
    assert (done.returncode == 0) is ok
    if ok:
        assert (tmp_path / "notes.md").read_text() == "- new\n"
        assert (tmp_path / "env").read_text() == "VERSION=0.1.0\n"


def test_the_changelog_has_its_form() -> None:
    """Versions and groups are in the required order, and each entry is on one line."""
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    heads = [line for line in lines if line.startswith("## ")]
    assert all(re.fullmatch(r"## \[(Unreleased\]|[\d.]+\] - \d{4}-\d\d-\d\d)", h) for h in heads)
    assert heads == sorted(heads, key=lambda h: ("Unreleased" in h, h[-10:]), reverse=True)
    groups = {"### Added", "### Changed", "### Removed", "### Fixed", "### Security"}
    assert {line for line in lines if line.startswith("### ")} <= groups
    body = lines[lines.index(heads[0]) :]
    assert not [line for line in body if line.startswith(" ")]


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert read(ROOT / "CITATION.cff")["version"] == project["project"]["version"]
    page = (ROOT / "book" / "versions.md").read_text("utf-8")
    tested = dict(re.findall(r"^\| (CuTe DSL|PyTorch) \| ([\d., ]+) \|", page, re.M))
    tables = json.loads((ROOT / "tests" / "machines.json").read_text("utf-8"))["tables"]
    for name, package in (("CuTe DSL", "nvidia-cutlass-dsl"), ("PyTorch", "torch")):
        recorded = {table["machine"][package].partition("+")[0] for table in tables}
        assert set(tested[name].split(", ")) == recorded
    jobs = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert " and ".join(jobs["python"]) + " on x86-64" in page


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()), ids=lambda p: p.stem
)
def test_issue_forms(path: Path) -> None:
    form = read(path)
    assert form.keys() == {"name", "description", "labels", "body"}
    assert {field["type"] for field in form["body"]} <= {"input", "textarea"}
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    assert any(field.get("validations", {}).get("required") for field in form["body"])
