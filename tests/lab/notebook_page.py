"""Control a notebook in JupyterLab in a browser: open it, run it, edit it, and read its display.

Where possible, actions use menus, mouse and keyboard, as a student would. State that a page does
not show, such as the end of a run and the content of cells, comes from JupyterLab itself, which
scripts can access under --LabApp.expose_app_in_browser.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SLOW_MS = 240_000  # only a busy machine needs this long

_PANEL = "window.jupyterapp.shell.currentWidget"
_READY = f"""async () => {{
    const panel = {_PANEL};
    if (!panel?.content?.widgets || !panel.sessionContext) return false;
    await panel.context.ready; await panel.revealed; await panel.sessionContext.ready;
    return panel.content.widgets.length > 0
        && panel.sessionContext.session?.kernel?.status === "idle";
}}"""
# Each run of cells, by menu or by key, is a command that ends with its last cell.
_LISTEN = """() => {
    window.forgeBegun = 0; window.forgeDone = 0;
    window.jupyterapp.commands.commandExecuted.connect((_, {id, result}) => {
        if (!id.startsWith("notebook:run-")) return;
        window.forgeBegun += 1;
        result.finally(() => { window.forgeDone += 1; });
    });
}"""
_CELLS = f"""() => {_PANEL}.content.model.toJSON().cells.map((cell) => ({{
    kind: cell.cell_type, source: cell.source, tags: cell.metadata.tags || [],
    folded: cell.metadata.jupyter?.outputs_hidden === true,
    errors: (cell.outputs || []).filter((o) => o.output_type === "error")
        .map((o) => o.ename + ": " + o.evalue),
    stderr: (cell.outputs || []).filter((o) => o.name === "stderr").map((o) => o.text).join(""),
    pictures: (cell.outputs || []).filter((o) => Object.keys(o.data || {{}})
        .some((kind) => kind.startsWith("image/")
            || kind === "text/html" && /<(img|svg)\\b/.test(o.data[kind]))).length,
    count: cell.execution_count,
}}))"""

_VISIBLE = f"""async (i) => {{
    const notebook = {_PANEL}.content;
    await notebook.scrollToItem(i, "center");
    const node = notebook.widgets[i].node;
    return node.isConnected && node.getBoundingClientRect().height > 0;
}}"""
# JupyterLab attaches a cell's editor, and detaches it, while the notebook scrolls.
_LINE = f"""async ([i, text]) => {{
    const notebook = {_PANEL}.content;
    await notebook.scrollToItem(i, "center");
    return [...notebook.widgets[i].node.querySelectorAll(".cm-line")]
        .find((line) => line.isConnected && line.innerText.trim() === text);
}}"""
# When JupyterLab runs all cells, it sends them together. After an error, the kernel refuses the
# remaining cells. After an error that the cell's tag allows, the command ends, but the remaining
# cells still run.
_OVER = f"""() => {{
    const {{content, sessionContext}} = {_PANEL};
    const cells = [...content.model.cells].filter((cell) => cell.type === "code");
    const failed = (cell) => !cell.getMetadata("tags")?.includes("raises-exception")
        && cell.outputs.toJSON().some((output) => output.output_type === "error");
    return window.forgeBegun === window.forgeDone
        && sessionContext.session.kernel.status === "idle"
        && (cells.every((cell) => cell.executionCount !== null) || cells.some(failed));
}}"""


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


@dataclass(frozen=True)
class Cell:
    """A cell as JupyterLab stores it: its index, kind, text, tags and outputs.

    folded: True if a line with three dots replaces its outputs. pictures: the number of outputs
    with a picture.
    """

    index: int
    kind: str
    source: str
    tags: tuple[str, ...]
    folded: bool
    errors: tuple[str, ...]
    stderr: str
    pictures: int
    count: int | None


class NotebookPage:
    """The notebook that opens in a browser's page, which is already loading it or is sent to
    `address`."""

    def __init__(self, page: Any, address: str | None = None) -> None:
        self.page = page
        page.set_default_timeout(SLOW_MS)
        if address is not None:
            page.goto(address)
        page.locator(".jp-NotebookPanel:visible .jp-Cell, .jp-Dialog").first.wait_for()
        refused = page.locator(".jp-Dialog:visible").all_inner_texts()
        assert not refused, f"JupyterLab does not open it: {refused[0]}"
        self._until(_READY)
        page.evaluate(_LISTEN)

    # -- content ----------------------------------------------------------------------------
    def cells(self) -> list[Cell]:
        found = self.page.evaluate(_CELLS)
        return [Cell(i, c["kind"], _text(c["source"]), tuple(c["tags"]), c["folded"],
                     tuple(c["errors"]), _text(c["stderr"]), c["pictures"], c["count"])
                for i, c in enumerate(found)]  # fmt: skip

    def find(self, text: str) -> Cell:
        """Return the only code cell that contains this text."""
        (cell,) = (c for c in self.cells() if c.kind == "code" and text in c.source)
        return cell

    def trusted(self) -> bool:
        """Return True if JupyterLab trusts the outputs as this user's own."""
        return bool(self.page.evaluate(
            f"[...{_PANEL}.content.model.cells].filter((c) => c.type === 'code')"
            ".every((c) => c.trusted)"))  # fmt: skip

    # -- display ----------------------------------------------------------------------------
    def node(self, cell: Cell) -> Any:
        """Return the cell's element, scrolled into view."""
        self._until(_VISIBLE, cell.index)  # the cell may not be attached yet
        node = self.page.evaluate_handle(f"(i) => {_PANEL}.content.widgets[i].node", cell.index)
        return node.as_element()

    def shown(self, cell: Cell) -> str:
        """Return the text of a cell's outputs."""
        outputs = self.node(cell).query_selector_all(".jp-OutputArea-output")
        return "\n".join(out.inner_text() for out in outputs if out.is_visible())

    def fold(self, cell: Cell) -> str:
        """Return the texts that the page and its style sheet show for a folded output."""
        line = self.node(cell).query_selector(".jp-OutputPlaceholder .jp-PlaceholderText")
        return str(
            line.evaluate("""(line) => {
            const own = parseFloat(getComputedStyle(line).fontSize) ? line.innerText : "";
            const before = getComputedStyle(line, "::before").content;
            return own + (before === "none" ? "" : JSON.parse(before));
        }""")
        )

    def unfold(self, cell: Cell) -> None:
        """Click the three dots."""
        self.node(cell).query_selector(".jp-OutputPlaceholder").click()

    def picture_widths(self, cell: Cell) -> list[int]:
        """Return the widths, in CSS pixels, of the pictures in a cell's outputs; 0 for a hidden
        picture."""
        images = self.node(cell).query_selector_all(".jp-OutputArea-output img")
        loaded = "(image) => image.decode().then(() => image.naturalWidth, () => 0)"
        return [image.evaluate(loaded) if image.is_visible() else 0 for image in images]

    # -- a student's actions ----------------------------------------------------------------------
    def begin_all(self) -> None:
        """Choose Run > Run All Cells, without waiting for the cells to finish."""
        self._begin(self._choose_run_all)

    def run_all(self) -> None:
        """Choose Run > Run All Cells, and wait for the last cell."""
        self.begin_all()
        self.wait()

    def run(self, cell: Cell) -> None:
        """Click into a cell, press Shift+Enter, and wait until the cell has run."""
        self.node(cell).query_selector(".cm-content").click()
        self._begin(lambda: self.page.keyboard.press("Shift+Enter"))
        self.wait()

    def replace_line(self, cell: Cell, was: str, becomes: str) -> None:
        """Type new text over a cell's line, keeping its indentation."""
        self._until(_LINE, [cell.index, was]).as_element().click()
        for key in ("End", "Shift+Home"):
            self.page.keyboard.press(key)
        self.page.keyboard.type(becomes)

    def wait(self) -> None:
        """Wait until every started command is done and the kernel is idle."""
        self.page.wait_for_function(_OVER)

    def _until(self, function: str, arg: object = None) -> Any:
        """Return a handle of the function's first true result.

        Playwright's `wait_for_function` cannot do this, because it treats the promise of an `async`
        function as a true result.
        """
        end = time.monotonic() + SLOW_MS / 1000
        while True:
            found = self.page.evaluate_handle(function, arg)
            if found.evaluate("(result) => Boolean(result)"):
                return found
            assert time.monotonic() < end, f"not true for {arg} in time: {function}"
            self.page.wait_for_timeout(50)

    def _begin(self, act: Callable[[], None]) -> None:
        begun = self.page.evaluate("window.forgeBegun")
        act()
        self.page.wait_for_function(f"window.forgeBegun > {begun}")

    def _choose_run_all(self) -> None:
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
