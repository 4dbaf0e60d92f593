// The course's changes to JupyterLab, in the form that JupyterLab 4 loads as a prebuilt extension.
(() => {
  // JupyterLab shows the first line of a folded output next to three dots. That line may be HTML,
  // or the answer that the student should predict, so a fixed text replaces it. An exercise's task
  // is shown in a box.
  const styles = () => {
    const style = document.createElement("style");
    style.textContent = `
      .jp-OutputPlaceholder .jp-PlaceholderText { font-size: 0; }
      .jp-OutputPlaceholder .jp-PlaceholderText::before {
        content: "folded away: predict, then run this cell";
        font-family: var(--jp-ui-font-family);
        font-size: var(--jp-ui-font-size1);
      }
      .jp-RenderedMarkdown:has(> :is([id^="Exercise-"], [data-jupyter-id^="Exercise-"])) {
        margin: 12px 0;
        padding: 4px 20px 12px;
        border: 1px solid var(--jp-border-color2);
        border-left: 5px solid #009e73;
        border-radius: 4px;
      }`;
    document.head.append(style);
    return {};
  };

  // When its kernel starts, JupyterLab writes the kernel's language, with Python's version, into the
  // notebook. The student did not make that change, so a notebook without other changes stays
  // clean, and JupyterLab does not ask to save it when the page is closed or reloaded.
  const watched = new WeakSet();
  const stayClean = (panel) => {
    const model = panel?.context?.model;
    if (!model?.setMetadata || watched.has(model)) return;
    watched.add(model);
    const set = model.setMetadata;
    model.setMetadata = function (key, value) {
      const dirty = model.dirty;
      set.call(model, key, value);
      if (key === "language_info") model.dirty = dirty;
    };
  };
  const plugin = {
    id: "forgekit-lab:plugin",
    autoStart: true,
    activate: ({ docRegistry }) => {
      docRegistry.addWidgetExtension("Notebook", { createNew: stayClean });
    },
  };

  const modules = { "./style": styles, "./extension": () => ({ __esModule: true, default: plugin }) };
  (window._JUPYTERLAB = window._JUPYTERLAB || {})["forgekit-lab"] = {
    init: () => {},
    get: (name) => Promise.resolve(modules[name]),
  };
})();
