"""What exercises share in which a plain Python function is handed in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from forgekit.lessons.gates.failure import GateError
from forgekit.lessons.gates.submission import Submission

__all__ = ["python_function"]


def python_function(handed_in: Submission, skeleton: str) -> Callable[..., Any]:
    """What was handed in, if it is a function that can be called as the skeleton.

    skeleton: its first line, such as "cache_key(x)".

    Raises:
        GateError: it is something else, or takes other arguments.
    """
    value = handed_in.value
    name, _, parameters = skeleton.rstrip(")").partition("(")
    look_at = f"Hand in {name} itself, as the cell of the grade does, without calling it."
    if isinstance(value, type) or not callable(value):
        raise GateError(f"Handed in was {value!r:.120}, and needed is a function.", look_at=look_at)
    try:
        inspect.signature(value).bind(*parameters.split(", "))
    except TypeError:
        raise GateError(f"It cannot be called as {skeleton}.", look_at=look_at) from None
    except ValueError:  # built in: its parameters are not known
        pass
    return value
