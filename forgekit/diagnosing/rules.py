"""Recognise mistakes that CuTe DSL's compiler reports, by the rules in `rules.toml`.

A rule matches if `pattern` matches `ExceptionClass: CODE: text` (white space collapsed) and, if
given, `line` matches the student's source line and `source` matches a line of the student's
functions. Named groups in `pattern` and `line` replace the names in braces in `explanation`,
`remedy` and `source`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from forgekit.errors import SourceLine


@dataclass(frozen=True)
class Rule:
    """The pattern by which a mistake is recognised, and its message.

    Attributes:
        kind: the mistake's short name, which becomes `CompileError.kind`.
        pattern, line, source: regular expressions; see the module's docstring.
        explanation, remedy: templates of one or two sentences.
        at: `kernel` if the mistake is in the kernel, `call` if it is in the call that compiles the
            kernel.
        find: a regular expression. If the compiler reports no line, the message quotes the first
            line in the functions that matches it.
    """

    kind: str
    pattern: str
    explanation: str
    remedy: str
    line: str = ""
    source: str = ""
    at: str = "kernel"
    find: str = ""

    def match(self, text: str, line: str, lines: Iterable[str]) -> dict[str, str] | None:
        """Return the fields for the templates if the rule matches, otherwise None.

        text: the compiler's error. line: the student's line, or "" if unknown. lines: the lines of
        the compiled functions.
        """
        found = re.search(self.pattern, " ".join(text.split()))
        on_line = re.search(self.line, line)
        if found is None or on_line is None:
            return None
        fields = {k: v or "" for k, v in (found.groupdict() | on_line.groupdict()).items()}
        source = self.source.format_map(fields)
        if source and not any(re.search(source, each) for each in lines):
            return None
        return fields


_TABLE = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
_MLIR_TYPES: dict[str, str] = _TABLE["mlir_types"]
RENAMED: dict[str, str] = _TABLE["renamed"]
_PHRASES: dict[str, str | list[str]] = {**_TABLE["phrases"], "renamed": list(RENAMED)}


def _written_out(text: str) -> str:
    """Return the text on one line, with each {phrase} from the table replaced."""
    for name, phrase in _PHRASES.items():
        words = phrase if isinstance(phrase, str) else "|".join(phrase)
        text = text.replace(f"{{{name}}}", words)
    return " ".join(text.split())


UNRECOGNISED = Rule("unrecognised", "", "CuTe DSL failed to compile this code.", "", at="call")
RULES = tuple(Rule(**{k: _written_out(v) for k, v in row.items()}) for row in _TABLE["rules"])


def recognise(
    texts: Iterable[str], place: SourceLine | None, lines: Iterable[SourceLine], obj: object
) -> tuple[Rule, dict[str, str]]:
    """Return the first rule that matches one of the texts, which begin with the most specific, and
    its fields. If none matches, return UNRECOGNISED, which has no remedy.

    obj: for an AttributeError, the object that lacks the attribute; otherwise None.
    """
    line, sources = place.text if place is not None else "", [one.text for one in lines]
    for text in texts:
        for rule in RULES:
            fields = rule.match(text, line, sources)
            if fields is not None:
                return rule, _with_derived(fields, obj)
    return UNRECOGNISED, {}


def _with_derived(fields: dict[str, str], obj: object) -> dict[str, str]:
    """Convert type names to CuTe's, and add fields that a pattern cannot capture, such as bits
    converted to bytes and replacements for removed names."""
    for key, value in list(fields.items()):
        fields[key] = _MLIR_TYPES.get(value, value).strip()
        if value.isdecimal():
            fields[f"{key}_bytes"] = str(int(value) // 8)
    name, variable, tensor = (fields.get(key, "") for key in ("name", "var", "tensor"))
    imported = "import cutlass.cute as cute" if variable == "cute" else f"import {variable}"
    fields["import_line"] = f"`{imported}`"
    fields["target"] = f"{tensor}.element_type" if tensor else f"cutlass.{fields.get('needed')}"
    fields["end"] = "source" if fields.get("side") in ("S", "src") else "destination"
    fields["new_name"] = RENAMED.get(name, "")
    public = [each for each in dir(obj) if not each.startswith("_")]
    near = difflib.get_close_matches(name, public, n=1)
    fields["did_you_mean"] = f"; did you mean `{near[0]}`?" if near else "."
    return fields
