"""Parse a page of the built site for the tests."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

RESOURCES = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "shortcut"}


@dataclass
class Page(HTMLParser):
    """A parsed page. headings: pairs (level, text); pictures: pairs (kind, alt); styles: CSS."""

    path: Path
    ids: set[str] = field(default_factory=set)
    twice: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    pictures: list[tuple[str, str]] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    title: str = ""
    language: str = ""
    _open: str = ""
    _unseen: int = 0  # nesting depth of <div> in a print-only part

    def __post_init__(self) -> None:
        super().__init__()

    @staticmethod
    def read(path: Path) -> Page:
        page = Page(path)
        page.feed(path.read_text(encoding="utf-8"))
        page.close()
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if self._unseen or "onlyprint" in has.get("class", "").split():
            self._unseen += tag == "div"
            return
        if name := has.get("id"):
            self.twice += [name] if name in self.ids else []
            self.ids.add(name)
        self.classes += [has["class"]] if has.get("class") else []
        self.styles += [has["style"]] if has.get("style") else []
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        if tag == "html":
            self.language = has.get("lang", "")
        if tag in RESOURCES and (address := has.get(RESOURCES[tag])):
            if tag != "link" or FETCHED_LINKS & set(has.get("rel", "").split()):
                self.resources.append(address)
        if tag == "img":
            self.pictures.append((has.get("src", "")[:60], has.get("alt", "")))
        if tag == "svg" and has.get("aria-hidden") != "true":
            name = has.get("aria-label", "") if has.get("role") == "img" else ""
            self.pictures.append((f"svg {has.get('class', '')}", name))
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append((int(tag[1]), ""))
        if tag in ("title", "style") or (tag[0] == "h" and tag[1:].isdigit()):
            self._open = tag

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            self._unseen -= tag == "div"
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "style":
            self.styles.append(data)
        elif self._open == "title" and not self.title:
            self.title = data.strip()
        elif self._open.startswith("h"):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)


def target(page: str, link: str) -> tuple[str, str] | None:
    """Return the (page, anchor) to which a link leads, or None if it leads outside the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    return (there if parts.path else page), unquote(parts.fragment)
