"""What a student reads: the report on a solution, and a hint or a solution as a note."""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forgekit.lessons.gates.failure import GateError

__all__ = ["GradeReport", "Note", "Outcome"]

_GREEN, _RED, _GREY = "#009E73", "#D55E00", "#7f7f7f"  # the first two are Okabe and Ito's
_WIDTH = 102  # what tools say in 96 columns, and the indent
_PRAISE = "Every gate is passed."


@dataclass(frozen=True)
class Outcome:
    """A group that was passed. name; told: what was seen, such as `8 sizes in 3 types`."""

    name: str
    told: str


@dataclass(frozen=True)
class GradeReport:
    """What became of a solution; true if it passed all groups.

    Attributes:
        name, title: of the exercise. passed: groups passed, in order. failed: the name of the
        group that was not, "" if there is none, with its failure; not_reached: those after it.
        untouched: it was the skeleton as given, or an answer is missing. standing: such as
        `3 of 12 of week0`.
    """

    name: str
    title: str
    passed: tuple[Outcome, ...]
    failed: str
    failure: GateError | None
    not_reached: tuple[str, ...]
    untouched: bool = False
    standing: str = ""
    praise: str = ""

    def __bool__(self) -> bool:
        return self.failure is None

    @property
    def headline(self) -> str:
        """The report in one line."""
        if self:
            return f"PASSED  {self.name}: {self.title}"
        if self.untouched:
            return f"OPEN  {self.name}: {self.title}"
        done, all_ = len(self.passed), len(self.passed) + 1 + len(self.not_reached)
        return f"NOT YET  {self.name}: {done} of {all_} groups passed"

    @property
    def _open(self) -> tuple[str, ...]:
        """The groups still to come; the one that only lacks an answer is one of them."""
        return (self.failed, *self.not_reached) if self.untouched else self.not_reached

    @property
    def _closing(self) -> str:
        known = f"Passed so far: {self.standing}." if self.standing else ""
        return f"{self.praise or _PRAISE} {known}".strip()

    @property
    def _advice(self) -> str:
        if self.failure is None or self.untouched:
            return ""
        return f'Stuck? fk.exercise("{self.name}").hint()'

    def __repr__(self) -> str:
        lines = [self.headline]
        for o in self.passed:
            told = f"  [x] {o.name}{': ' + o.told if o.told else ''}"
            lines += textwrap.wrap(told, _WIDTH, subsequent_indent="      ")
        if self.failure is not None:
            if not self.untouched:
                lines.append(f"  [!] {self.failed}")
            lines += _indented(self.failure.happened)
            if self.failure.likely:
                lines += ["", *_indented(f"Why: {self.failure.likely}")]
            if self.failure.look_at:
                lines += ["", *_indented(f"Next: {self.failure.look_at}")]
            lines += [f"  [ ] {name}" for name in self._open]
            lines += [self._advice] if self._advice else []
        else:
            lines.append(self._closing)
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._html()}

    def _html(self) -> str:
        colour = _GREEN if self else (_GREY if self.untouched else _RED)
        parts = [
            f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;max-width:880px;'
            'font-size:13px;line-height:1.45">',
            f'<div style="color:{colour}"><b>{_e(self.headline)}</b></div>',
        ]
        parts += [_line(_GREEN, "&#10003;", o.name, o.told) for o in self.passed]
        if self.failure is not None:
            if not self.untouched:
                parts.append(_line(_RED, "&#10007;", self.failed, ""))
            parts.append(_happened(self.failure.happened))
            for word, text in (("Why", self.failure.likely), ("Next", self.failure.look_at)):
                if text:
                    parts.append(f'<div style="margin:4px 0 4px 20px"><b>{word}.</b> {_said(text)}'
                                 "</div>")  # fmt: skip
            parts += [_line(_GREY, "&#9675;", name, "") for name in self._open]
            if self._advice:
                parts.append(f'<div style="margin-top:6px;opacity:.75">{_e(self._advice)}</div>')
        else:
            parts.append(f'<div style="margin-top:6px">{_e(self._closing)}</div>')
        return "".join(parts) + "</div>"


def _line(colour: str, mark: str, name: str, told: str) -> str:
    more = f' <span style="opacity:.7">{_e(told)}</span>' if told else ""
    return f'<div><span style="color:{colour};display:inline-block;width:20px">{mark}</span>' \
           f"{_e(name)}{more}</div>"  # fmt: skip


def _happened(text: str) -> str:
    """The first line as it is; what follows, quoted from a tool, with its own line breaks."""
    first, _, rest = text.partition("\n")
    quoted = (
        '<pre style="margin:4px 0;padding:6px 8px;font-size:12px;white-space:pre-wrap;'
        f'background:rgba(127,127,127,.12)">{_e(rest)}</pre>'
        if rest
        else ""
    )
    return f'<div style="margin:4px 0 4px 20px">{_said(first)}{quoted}</div>'


def _indented(text: str, by: str = "      ") -> list[str]:
    """Lines broken between words at the width of a notebook's output."""
    result: list[str] = []
    for line in text.splitlines():
        own = by + line[: len(line) - len(line.lstrip())]
        result += textwrap.wrap(
            line.strip(), _WIDTH, initial_indent=own, subsequent_indent=own,
            break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return result


def _e(text: str) -> str:
    return html.escape(text)


def _said(text: str) -> str:
    """Our own words, with `code` and line breaks in them."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", _e(text)).replace("\n", "<br>")


@dataclass(frozen=True)
class Note:
    """A title and a text in Markdown; a notebook shows it set, a terminal as it is."""

    title: str
    text: str

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.text}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/markdown": f"**{self.title}**\n\n{self.text}"}
