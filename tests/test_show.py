"""Test that every type in the table of drawers exists, inherits the code that shows it, and has a
drawer."""

from __future__ import annotations

import importlib

import pytest

from forgekit.drawers import DRAWERS
from forgekit.show import Shown, draw


@pytest.mark.parametrize("name", DRAWERS)
def test_what_draws_it_exists(name: str) -> None:
    module, _, kind = name.rpartition(".")
    shown = getattr(importlib.import_module(module), kind)
    assert issubclass(shown, Shown)
    assert shown.__repr__ is Shown.__repr__, "a dataclass needs repr=False"
    assert shown._repr_mimebundle_ is Shown._repr_mimebundle_
    for target in DRAWERS[name].values():
        home, function = target.split(":")
        assert callable(getattr(importlib.import_module(f"forgekit.{home}"), function))


def test_a_type_that_nothing_draws():
    class Odd(Shown):
        summary = "odd"

    assert repr(Odd()) == "odd"
    with pytest.raises(LookupError, match="draws Odd as html"):
        draw(Odd(), "html")
