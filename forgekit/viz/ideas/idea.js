// A picture to play with: controls, a drawing, and below it what the drawing says now. `make` gets
// the tools and the data, and returns a function that draws the present state.
function fkIdea(root, d, make) {
  const el = fkNode, style = root.querySelector("style");
  const controls = el("div", { class: "row" }), box = el("div", { class: "box" });
  const facts = el("p", { class: "facts", role: "status", "aria-live": "polite" });
  root.replaceChildren(style, el("b", {}, d.title), controls, box, facts, el("p", { class: "soft" }, d.note));
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab has keys of its own
  let draw = () => {};
  const tools = { el, box, facts, controls,
    // A slider; `words` says its value, `set` takes it.
    slider(name, values, start, words, set) {
      const output = el("output", {}, words(values[start]));
      const input = el("input", { type: "range", min: 0, max: values.length - 1, step: 1, value: start,
        "aria-label": name, oninput: () => tell(Number(input.value), true) });
      const tell = (k, act) => {
        output.textContent = words(values[k]);
        input.setAttribute("aria-valuetext", output.textContent);
        if (act) { set(values[k]); draw(); }
      };
      tell(start, false);
      controls.append(el("label", {}, name, input, output));
      return { input, to(k) { input.value = k; tell(k, true); } };
    },
    // Buttons of which one is pressed.
    choice(names, set) {
      const buttons = names.map((name, k) => el("button", { type: "button", "aria-pressed": String(k === 0),
        onclick: () => press(k) }, name));
      const press = (k) => {
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === k));
        set(k);
        draw();
      };
      controls.append(...buttons);
      return press;
    },
    button(name, act) {
      const made = el("button", { type: "button", onclick: act }, name);
      controls.append(made);
      return made;
    },
    svg(width, height, label, ...kids) {
      return el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...kids);
    },
    text(x, y, words, more = {}) { return el("text", { x, y, ...more }, `${words}`); },
    rect(x, y, width, height, fill, more = {}) {
      return el("rect", { x, y, width: Math.max(width, 0), height: Math.max(height, 0), style: `fill:${fill}`, ...more });
    },
    line(path, more = {}) { return el("path", { d: path, class: "axis", ...more }); },
    redraw: () => draw(),
  };
  draw = make(tools, d);
  draw();
}
// Keys of a drawing: a map from key to action; keys it knows do not reach the page.
function fkKeys(node, keys) {
  node.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });
}
