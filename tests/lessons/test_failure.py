"""What a closed gate says: text for a student, whatever it was made of."""

from __future__ import annotations

import os

import forgekit
from forgekit.lessons.gates import GateError

_SAID = """It raised DSLUserCodeError:
\x1b[91m\x1b[1merror[ARG_ANNOTATION_MISMATCH]:\x1b[0m expects a cute.Tensor
 \x1b[94m-->\x1b[0m {file}:3:9
  |
3 |         fn(x, y)
  |         \x1b[91m^^^^^^^^\x1b[0m
suggestion: pass another value"""


def test_colours_and_places_inside_forgekit_are_left_out():
    inside = os.path.join(os.path.dirname(forgekit.__file__), "lessons", "grading.py")
    assert GateError(_SAID.format(file=inside)).happened == (
        "It raised DSLUserCodeError:\n"
        "error[ARG_ANNOTATION_MISMATCH]: expects a cute.Tensor\n"
        "suggestion: pass another value"
    )


def test_places_in_a_students_code_stay():
    happened = GateError(_SAID.format(file="/home/ada/scale.py")).happened
    assert "\x1b" not in happened
    assert "--> /home/ada/scale.py:3:9\n  |\n3 |         fn(x, y)\n" in happened
