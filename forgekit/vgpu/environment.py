"""Inspect the environment of the process: variables whose names begin with FORGEKIT_, and
IPython."""

from __future__ import annotations

import os
import sys
from typing import Any

from forgekit.vgpu.errors import usage_error

ON, OFF = ("on", "yes", "true", "1"), ("off", "no", "false", "0")


def is_on(name: str, default: bool) -> bool:
    """Return True if the variable's value is on, yes, true or 1, and `default` if it is unset or
    empty.

    Raises:
        UsageError: the value is not one of on, yes, true, 1, off, no, false and 0.
    """
    said = os.environ.get(name, "").strip().lower()
    if said and said not in ON + OFF:
        needed = "on, yes, true, 1, off, no, false or 0"
        usual = "on" if default else "off"
        raise usage_error(name, repr(said), needed, f"unset it for {usual}")
    return said in ON if said else default


def number(name: str, default: int) -> int:
    """Return the variable's value, a positive integer, or `default` if it is unset or empty.

    Raises:
        UsageError: the value is not a positive integer.
    """
    said = os.environ.get(name, "").strip()
    if not said:
        return default
    try:
        found = int(said)
    except ValueError:
        found = 0
    if found < 1:
        needed = "a whole number, 1 or more"
        raise usage_error(name, repr(said), needed, f"unset it for {default:,}")
    return found


def ipython() -> Any:
    """Return the IPython shell that runs the process's code (in a notebook, for example), or
    None."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
