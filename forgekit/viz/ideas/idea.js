// An interactive picture: controls, a drawing, and a text below the drawing. `make` receives the
// tools and the data, and returns a function that draws the current state in a width of `t.width()`
// pixels.
function fkIdea(root, d, make) {
  const el = fkNode, style = root.querySelector("style");
  const controls = el("div", { class: "controls" }), box = el("div", { class: "box" });
  const facts = el("p", { class: "facts", role: "status", "aria-live": "polite" });
  root.replaceChildren(style, el("b", {}, d.title), controls, box, facts, el("p", { class: "soft" }, d.note));
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab has keys of its own
  let draw = () => {}, drawn = 0;
  const choose = (buttons, set, k) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === k));
    set(k);
    draw();
  };
  const tools = { el, box, facts, controls,
    width: () => Math.min(Math.max(box.clientWidth || 760, 280), 760),
    many: (n) => Math.round(n).toLocaleString("en"),
    // A slider. `words` formats its value, and `set` stores it.
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
    // A group of buttons, exactly one of which is pressed.
    choice(label, names, set) {
      const buttons = names.map((name, k) => el("button", { type: "button", "aria-pressed": String(k === 0),
        onclick: () => choose(buttons, set, k) }, name));
      controls.append(el("span", { class: "choice", role: "group", "aria-label": label }, ...buttons));
    },
    button(name, act) {
      const made = el("button", { type: "button", onclick: act }, name);
      controls.append(made);
      return made;
    },
    svg(height, label, ...kids) {
      const width = drawn = tools.width();
      return el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...kids);
    },
    text(x, y, words, more = {}) { return el("text", { x, y, ...more }, `${words}`); },
    rect(x, y, width, height, fill, more = {}) {
      return el("rect", { x, y, width: Math.max(width, 0), height: Math.max(height, 0), style: `fill:${fill}`, ...more });
    },
    line(path, more = {}) { return el("path", { d: path, class: "axis", ...more }); },
    // Replaces the drawing. keys: key -> action. The page does not receive these key presses.
    show(svg, keys) {
      const focused = keys && box.contains(document.activeElement);
      if (keys) svg.setAttribute("tabindex", 0);
      svg.addEventListener("keydown", (event) => {
        if (!keys?.[event.key]) return;
        keys[event.key]();
        event.preventDefault();
        event.stopPropagation();
      });
      box.replaceChildren(svg);
      if (focused) svg.focus();
    },
    redraw: () => draw(),
  };
  draw = make(tools, d);
  draw();
  new ResizeObserver(() => { if (box.clientWidth && tools.width() !== drawn) draw(); }).observe(box);
}
