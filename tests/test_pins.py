"""Test the pins in pyproject.toml: one exact version of every required package."""

from __future__ import annotations

import re
import tomllib

from tests.pins import PINS, ROOT, pinned, resolved

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NOT_PINNED = {"triton"}  # PyTorch's GPU builds require their own version


def test_every_package_that_is_asked_for_is_pinned() -> None:
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        asked += extra
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in asked}
    assert names - pinned().keys() == NOT_PINNED


def test_pins_are_exact_and_name_no_host() -> None:
    pins = PROJECT["tool"]["uv"]["constraint-dependencies"]
    assert list(pinned()) == sorted(pinned())
    for pin in pins:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[0-9][\w.]*", pin)


def test_dropping_pins_leaves_an_empty_list() -> None:
    text = PINS.sub("", (ROOT / "pyproject.toml").read_text("utf-8"), count=1)
    assert tomllib.loads(text)["tool"]["uv"]["constraint-dependencies"] == []


def test_builds_of_one_version_are_one_pin_and_several_versions_none() -> None:
    lock = {
        "package": [
            {"name": "torch", "version": "2.13.0", "source": {"registry": "x"}},
            {"name": "torch", "version": "2.13.0+cpu", "source": {"registry": "y"}},
            {"name": "triton", "version": "3.7.1", "source": {"registry": "x"}},
            {"name": "triton", "version": "3.9.0", "source": {"registry": "x"}},
            {"name": "forgekit", "version": "0.1.0", "source": {"editable": "."}},
        ]
    }
    assert resolved(lock) == {"torch": "2.13.0"}
