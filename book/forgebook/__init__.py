"""The book's Sphinx extension: it generates pages and prepares notebooks, pictures and formulas."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["setup"]

# The repository's address, such as https://github.com/OWNER/NAME. Without it, the pages have no
# launch buttons.
REPOSITORY = "FORGEKIT_BOOK_REPOSITORY"
_WARNING = "<blockquote>\n<div><p><strong>Looks right but is wrong.</strong>"


def setup(app: Any) -> dict[str, Any]:
    """Set up the extension. Only this function imports Sphinx, so the package can be used without
    it.
    """
    from forgebook import maths
    from forgebook.pictures import InlinePictures

    app.add_config_value("comments_config", {}, "env")  # set by Jupyter Book
    app.add_transform(InlinePictures)
    maths.register(app)
    app.connect("config-inited", _add_launch_buttons)
    app.connect("env-get-outdated", _made_pages)
    app.connect("source-read", _prepare)
    app.connect("html-page-context", _name_blocks)
    app.connect("html-page-context", _add_codespaces, priority=600)  # after the theme's, 501
    app.connect("build-finished", _write_entrance)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _repository() -> str:
    return os.environ.get(REPOSITORY, "").rstrip("/")


def _add_launch_buttons(app: Any, config: Any) -> None:
    repository = _repository()
    if not repository:
        return
    options = config.html_theme_options
    options["repository_url"] = repository
    options["repository_branch"] = os.environ.get("FORGEKIT_BOOK_BRANCH") or "main"
    options["use_repository_button"] = options["use_issues_button"] = True
    if "github.com" in repository:
        options["launch_buttons"] = {
            "colab_url": "https://colab.research.google.com",
            "notebook_interface": "jupyterlab",
        }


def _made_pages(app: Any, env: Any, *changes: set[str]) -> list[str]:
    """Return the pages that each build must read again, because they depend on other files."""
    from forgebook import pages

    paths = {name: Path(env.doc2path(name)) for name in env.found_docs}
    texts = {n: p.read_text(encoding="utf-8") for n, p in paths.items() if p.suffix == ".md"}
    return [name for name, text in texts.items() if pages.is_made(text)]


def _prepare(app: Any, name: str, source: list[str]) -> None:
    from forgebook import notebooks, pages

    path = Path(app.env.doc2path(name))
    if path.suffix == ".ipynb":
        source[0] = notebooks.prepared(source[0], path.parent)
    else:
        text = pages.addressed(pages.filled(source[0]), _repository())
        source[0] = notebooks.linked(text, path.parent)


def _name_blocks(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Remove the label that hides a fold's title from screen readers, and convert quotations that
    begin with "Looks right but is wrong" to callouts.
    """
    if "body" in context:
        body = context["body"].replace(' aria-label="Toggle hidden content"', "")
        context["body"] = body.replace(_WARNING, _WARNING.replace(">", ' class="wrong">', 1))


def _add_codespaces(app: Any, name: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Add a button that opens the course in Codespaces, next to Colab's button."""
    for group in context.get("header_buttons", []):
        if group.get("label") == "launch-buttons":
            link = _repository().replace("https://github.com", "https://codespaces.new")
            button = {"type": "link", "text": "Codespaces", "icon": "fab fa-github", "url": link}
            group["buttons"].append({**button, "tooltip": "Open the course in GitHub Codespaces"})


def _write_entrance(app: Any, exception: Exception | None) -> None:
    """Write an index.html that redirects the site's address to the first page."""
    if exception is None and app.builder.format == "html":
        first = f"{app.config.master_doc}.html"
        title = app.config.html_title
        text = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<title>{title}</title><meta http-equiv="refresh" '
            f'content="0; url={first}"><link rel="canonical" href="{first}"></head>'
            f'<body><main><h1><a href="{first}">{title}</a></h1></main></body></html>\n'
        )
        Path(app.outdir, "index.html").write_text(text, encoding="utf-8")
