"""Takes the README's pictures of JupyterLab: `uv run python -m tests.lab.picture`, in Chromium.

book/pictures/lab_light.png, lab_dark.png: a notebook at a profile that has just been run.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.conftest import BROWSERS
from tests.lab.conftest import ROOT, lab
from tests.lab.notebook_page import NotebookPage

NOTEBOOK = "week0_copy_transpose/01_why_slow_why_wrong.ipynb"
PREDICT, LAST = "fk.predict(", "profile.show()"  # what is answered; what is run last
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_RUN_TO = """async ([predict, last, theme]) => {
    const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
    const at = (text) => notebook.widgets.findIndex(
        (cell) => cell.model.sharedModel.getSource().startsWith(text));
    await app.commands.execute("apputils:change-theme", {theme});
    const guess = notebook.widgets[at(predict)].model.sharedModel;
    guess.setSource(guess.getSource().replace("None", "4"));
    notebook.activeCellIndex = at(last);
    notebook.deselectAll();
    await app.commands.execute("notebook:run-all-above");
    await app.commands.execute("notebook:run-cell");
}"""
_SHOW = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.widgets[notebook.activeCellIndex - 2].node.scrollIntoView({block: "start"});
}"""


def main() -> None:
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with lab(Path(folder), progress="off") as (address, token, _):
            for name, theme in THEMES.items():
                page = browser.new_page(viewport={"width": 1280, "height": 960})
                at = f"{address}/lab/workspaces/{name}/tree/{NOTEBOOK}?token={token}"
                NotebookPage(page, at).page.evaluate(_RUN_TO, [PREDICT, LAST, theme])
                for _ in range(2):  # it may move as more of the notebook is laid out
                    page.wait_for_timeout(1000)
                    page.evaluate(_SHOW)
                page.screenshot(path=ROOT / "book" / "pictures" / f"lab_{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
