// JupyterLab shows the first line of a folded output beside its three dots: the answer to what the
// student has just been asked to predict, or HTML. This puts the same neutral words in its place.
// The form is what JupyterLab 3 and 4 load as a prebuilt extension; a style is all that is in it.
(window._JUPYTERLAB = window._JUPYTERLAB || {})["forgekit-lab"] = {
  init: () => {},
  get: () => Promise.resolve(() => {
    const style = document.createElement("style");
    style.textContent = `
      .jp-OutputPlaceholder .jp-PlaceholderText { font-size: 0; }
      .jp-OutputPlaceholder .jp-PlaceholderText::before {
        content: "folded away: predict, then run this cell";
        font-family: var(--jp-ui-font-family);
        font-size: var(--jp-ui-font-size1);
      }`;
    document.head.append(style);
    return {};
  }),
};
