"""Test environment variables: all modules accept the same values, and errors name the variable."""

from __future__ import annotations

import pytest
import torch

import forgekit as fk
from forgekit import environment
from forgekit.compiling.compiled import cache_clear
from forgekit.errors import UsageError
from forgekit.vgpu.environment import number
from forgekit.vgpu.host.options import Options
from tests.vgpu.kernels import copies


@pytest.mark.parametrize("word", ["on", "Yes", "TRUE", " 1 "])
def test_words_for_on(word, monkeypatch):
    monkeypatch.setenv("FORGEKIT_X", word)
    assert environment.is_on("FORGEKIT_X", False)
    assert environment.path_or_off("FORGEKIT_X") == ""


@pytest.mark.parametrize("word", ["off", "No", "FALSE", " 0 "])
def test_words_for_off(word, monkeypatch):
    monkeypatch.setenv("FORGEKIT_X", word)
    assert not environment.is_on("FORGEKIT_X", True)
    assert environment.path_or_off("FORGEKIT_X") is None


def test_unset_and_empty_mean_the_usual(monkeypatch):
    for _ in range(2):
        assert environment.is_on("FORGEKIT_X", True) and not environment.is_on("FORGEKIT_X", False)
        assert number("FORGEKIT_X", 7) == 7 and environment.path_or_off("FORGEKIT_X") == ""
        monkeypatch.setenv("FORGEKIT_X", "")


def test_the_virtual_gpu_reads_them_when_they_are_needed(monkeypatch):
    monkeypatch.setenv("FORGEKIT_BUDGET", "1234")
    monkeypatch.setenv("FORGEKIT_SANITIZER", "no")
    assert (Options().budget, Options().sanitize) == (1234, False)


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        (
            "FORGEKIT_BUDGET",
            "abc",
            "got 'abc', needed a whole number, 1 or more; unset it for 4,00",
        ),
        ("FORGEKIT_BUDGET", "0", "got '0', needed a whole number, 1 or more"),
        ("FORGEKIT_SANITIZER", "perhaps", "got 'perhaps', needed on, yes, .* 0; unset it for on"),
        ("FORGEKIT_DISK_CACHE", "maybe", "got 'maybe', needed on, yes"),
        ("FORGEKIT_ARCH", "sm_12", "got 'sm_12', needed one of"),
        ("FORGEKIT_DEVICE", "tpu", "got 'tpu', needed one of"),
        ("FORGEKIT_CHECK", "loud", "got 'loud', needed"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name, word, message, monkeypatch):
    monkeypatch.setenv("FORGEKIT_DEVICE", "virtual")
    monkeypatch.setenv(name, word)
    cache_clear()
    x, y = torch.rand(40), torch.zeros(40)
    with pytest.raises(UsageError, match=f"{name}: {message}"):
        fk.compile(copies.copy, x, y)(x, y)
        fk.check(y, x)
