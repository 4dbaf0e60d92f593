"""Add links to the glossary, from each term to the notebook sections that introduce it."""

from __future__ import annotations

import re

from forgebook.course import notebooks

__all__ = ["names", "where", "with_links"]

_TERM = re.compile(r"^### (.+)$", re.MULTILINE)
_GROUP = re.compile(r"^## .+\n", re.MULTILINE)
_MOST = 3  # the maximum number of links below a term
_FILTER = (
    '<p class="filter"><label for="filter">Filter</label> <input type="search" id="filter"> '
    '<span role="status"></span></p>'
)


def names(heading: str) -> list[str]:
    """Return, in lower case, the forms of a glossary heading that may occur in bold, such as
    `sector` and `sectors`.
    """
    words = [w.strip().lower() for w in re.split(r"[,()]", re.sub(r"[`*]", "", heading))]
    return [form for w in words if w for form in (w, f"{w}s", f"{w}es")]


def where(heading: str) -> list[tuple[str, str]]:
    """Return the (title, address) of each section that contains the term in bold, in order."""
    wanted = set(names(heading))
    found = []
    for nb in notebooks():
        for section in nb.sections:
            if wanted & set(section.terms):
                name = f"{nb.title}, {section.title}" if section is not nb.sections[0] else nb.title
                found.append((name, f"../{nb.path}#{section.slug}"))
                break  # at most once per notebook
    return found[:_MOST]


def with_links(text: str) -> str:
    """Return the glossary from A to Z, with a line of links at the end of each term. (In the
    source, terms are in groups, and each term follows those on which it is based.)
    """
    head, *parts = _TERM.split(_GROUP.sub("", text))
    terms = dict(zip(parts[::2], (body.strip() for body in parts[1::2]), strict=True))
    out, letters = [], []
    for heading in sorted(terms, key=lambda term: names(term)[0]):
        letter = names(heading)[0][0].upper()
        if letter not in letters:
            letters.append(letter)
            out.append(f"## {letter}\n")
        links = " · ".join(
            f"[{name.replace('`', '')}]({address})" for name, address in where(heading)
        )
        met = f"\n\n{{.met}}\nIntroduced in {links}" if links else ""
        out.append(f"### {heading}\n\n{terms[heading]}{met}\n")
    jumps = " ".join(f"[{letter}](#{letter.lower()})" for letter in letters)
    return f"{head.rstrip()}\n\n{_FILTER}\n\n{{.letters}}\n{jumps}\n\n" + "\n".join(out)
