"""The glossary's links: where the notebooks introduce each term."""

from __future__ import annotations

import re

from forgebook.course import notebooks

__all__ = ["names", "where", "with_links"]

_TERM = re.compile(r"^### (.+)$", re.MULTILINE)
_MOST = 3  # links below a term


def names(heading: str) -> list[str]:
    """`sector, sectors` for a heading: the words that may stand for it in bold, in lower case."""
    words = [w.strip().lower() for w in re.split(r"[,()]", re.sub(r"[`*]", "", heading))]
    return [form for w in words if w for form in (w, f"{w}s", f"{w}es")]


def where(heading: str) -> list[tuple[str, str]]:
    """Links to the sections that have the term in bold: title and address, first met first."""
    wanted = set(names(heading))
    found = []
    for nb in notebooks():
        for section in nb.sections:
            if wanted & set(section.terms):
                name = f"{nb.title}, {section.title}" if section is not nb.sections[0] else nb.title
                found.append((name, f"../{nb.path}#{section.slug}"))
                break  # once a notebook
    return found[:_MOST]


def with_links(text: str) -> str:
    """The glossary's Markdown with a line of links at the end of each term."""
    parts = _TERM.split(text)
    out = parts[0]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        links = " · ".join(
            f"[{name.replace('`', '')}]({address})" for name, address in where(heading)
        )
        own, gap, group = body.partition("\n## ")  # the next group's heading stays behind the links
        met = f"\n\n{{.met}}\nMet in {links}\n" if links else ""
        out += f"### {heading}{own.rstrip()}{met}\n{gap}{group}"
    return out
