// All of the explorer but its grid: steps, choices, facts, sliders, bars, and what is said aloud.
function fkPanels(view, uid) {
  const { s, d } = view, { lab, tile, tv } = d, el = fkNode;
  const range = (from, to) => (from === to ? `${from}` : `${from}–${to}`);

  // -- steps
  const back = el("button", { type: "button", onclick: () => view.go(s.step - 1) }, "‹ Back");
  const next = el("button", { type: "button", onclick: () => view.go(s.step + 1) }, "Next ›");
  const names = d.steps.map((step, i) =>
    el("button", { type: "button", onclick: () => view.go(i) }, `${i + 1} ${step.name}`));
  const nav = el("nav", { class: "fkx-steps", "aria-label": "Steps", hidden: d.steps.length < 2 },
    back, next, el("ol", {}, ...names.map((name) => el("li", {}, name))));
  const words = el("p"), code = el("span"), modes = el("span", { class: "fkx-soft" });
  const result = el("code", { class: "fkx-result" });
  const block = el("div", { class: "fkx-step" }, words, el("code", {}, code, "  ", modes), result);

  const tileText = () => (tile ? shown(coordinate(s.tile, tile.rest)) : "");
  function filled(text) {
    const first = tv ? view.cellsOfThread(s.thread)[0] : -1;
    const values = { tile: tileText(), start: tile ? tile.starts[s.tile] : 0, thread: s.thread,
      first: first < 0 ? "none (beyond the tensor)" : d.offsets[first] };
    return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  }
  const layoutText = () => (view.kind() === "banks"
    ? lab.layouts[s.choice ? 1 : 0][s.choice || s.pad] : d.steps[s.step].result);
  const stepText = () => `Step ${s.step + 1} of ${d.steps.length}, ${d.steps[s.step].name}: `
    + `${filled(d.steps[s.step].words)} ${layoutText()}`;

  // -- choices: what cells show, which tile, which thread
  function radios(legend, choices, get, set) {
    const inputs = choices.map(([value, text]) => {
      const input = el("input", { type: "radio", name: `${uid}-${legend.replace(/ /g, "-")}`, value,
        onchange: () => set(value) });
      return [input, el("label", {}, input, text)];
    });
    const node = el("fieldset", {}, el("legend", {}, legend), ...inputs.map(([, label]) => label));
    const update = () => inputs.forEach(([input]) => { input.checked = input.value === get(); });
    return { node, update };
  }
  const shows = [["offset", "offset"], ["bank", "bank"], ["sector", "sector"]];
  if (tile && tile.count > 1) shows.splice(1, 0, ["tile", "offset, by tile"]);
  if (tv) shows.push(["thread", "thread and value"]);
  const show = radios("cells show", shows, () => s.show, (value) => { s.show = value; view.redraw(); });

  // Chips in a row: one of them in the tab order, arrow keys go to the next.
  function chips(name, count, text, colour, pick, look) {
    const nodes = Array.from({ length: count }, (_, i) => el("button", { type: "button",
      tabindex: i ? -1 : 0, "aria-pressed": "false", style: `--chip:${colour(i)}`,
      onclick: () => pick(i), onfocus: () => look(i), onblur: () => look(null),
      onpointerenter: (e) => e.pointerType === "touch" || look(i), onpointerleave: () => look(null),
      onkeydown: (e) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
        const to = e.key === "Home" ? 0 : e.key === "End" ? count - 1 : by ? i + by : -1;
        if (to < 0 || to >= count) return;
        nodes[i].tabIndex = -1;
        nodes[to].tabIndex = 0;
        nodes[to].focus();
        e.preventDefault();
        e.stopPropagation();
      } }, text(i)));
    const list = el("div", { class: "fkx-chips", role: "toolbar", "aria-label": name }, ...nodes);
    const update = (chosen) => nodes.forEach((n, i) => n.setAttribute("aria-pressed", i === chosen));
    return { list, update, node: el("div", { class: "fkx-choice" }, el("span", { class: "fkx-soft" }, name), list) };
  }
  const tiles = tile && tile.count > 1 ? chips("tile", tile.count,
    (i) => shown(coordinate(i, tile.rest)), (i) => d.palette.block[i % 8],
    (i) => { s.tile = i; view.redraw(); }, () => {}) : null;
  const threads = tv ? chips("thread", tv.threads, (i) => `T${i}`,
    (i) => d.palette.thread[i % 32], (i) => { s.thread = i; view.redraw(); },
    (i) => { s.chip = i; view.paint(); }) : null;

  // -- facts of an element
  const facts = {};
  const list = el("dl", { class: "fkx-facts" });
  const fields = [["coordinate", "coordinate"], ["offset", "offset"], ["bytes", "bytes"],
    ["bank", "bank of 32"], ["sector", "32-byte sector"], ["line", "128-byte line"]];
  if (tile && tile.count > 1) fields.splice(1, 0, ["inside", "in its tile"], ["tile", "tile"]);
  if (tv) fields.push(["thread", "thread, value"]);
  for (const [name, title] of fields) {
    facts[name] = el("dd", { "data-fact": name });
    list.append(el("div", {}, el("dt", {}, title), facts[name]));
  }
  function factsOf(i) {
    const o = view.offsets()[i], byte = byteOf(o, d.bits);
    const last = Math.max(byte, Math.ceil(((o + 1) * d.bits) / 8) - 1);
    const wide = Math.max(Math.floor(d.bits / 32), 1), bank = bankOf(o, d.bits);
    const held = view.heldBy(i), more = held.length > 1 ? ` (+${held.length - 1})` : "";
    return { coordinate: shown(coordinate(i, d.shape)), offset: o, bytes: range(byte, last),
      inside: tile && shown(coordinate(view.inTile[i], tile.shape)),
      tile: tile && shown(coordinate(view.tileOf[i], tile.rest)),
      bank: range(bank, bank + wide - 1), sector: Math.floor(byte / 32),
      line: Math.floor(byte / 128),
      thread: held.length ? `T${held[0][0]}, V${held[0][1]}${more}` : "none" };
  }
  // 3×32 + 5×1 = 101, and the swizzle after it.
  function sum(i) {
    if (!d.terms) return "";
    const banks = view.kind() === "banks", start = d.terms.start;
    const strides = d.terms.strides.slice(), digits = flat(coordinate(i, d.shape));
    if (banks && lab.pad_mode !== null) strides[lab.pad_mode] += s.pad - lab.padding;
    const swizzle = banks ? lab.swizzles[s.choice] : d.terms.swizzle;
    const plain = digits.reduce((all, c, k) => all + c * strides[k], start);
    const text = (start ? `${start} + ` : "")
      + digits.map((c, k) => `${c}×${strides[k]}`).join(" + ") + ` = ${plain}`;
    return swizzle ? `${text}; S<${swizzle}> makes it ${swizzled(plain, swizzle)}` : text;
  }
  const say = el("p", { class: "fkx-say" });
  const hint = "Hover, tap or tab to an element; arrow keys walk from one to the next.";
  function threadText(t) {
    const cells = view.cellsOfThread(t), inside = cells.filter((i) => i >= 0);
    const found = inside.map((i) => d.offsets[i]);
    const sectors = new Set(found.map((o) => Math.floor(byteOf(o, d.bits) / 32))).size;
    const beyond = cells.length - inside.length;
    const names = found.length > 12 ? [...found.slice(0, 12), "…"] : found;
    const many = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
    return `Thread ${t} holds ${many(found.length, "element")}`
      + (found.length ? ` in ${many(sectors, "sector")}, at offsets ${names.join(", ")}` : "")
      + (beyond ? `; ${beyond} beyond the tensor` : "") + ".";
  }
  function tell(i, thread) {
    const known = i === null ? {} : factsOf(i);
    for (const [name] of fields) facts[name].textContent = known[name] ?? "–";
    const here = i === null ? "" : `${known.coordinate} → offset ${sum(i) || known.offset}`;
    const parts = s.chip !== null ? [threadText(thread)]
      : thread !== null && tv ? [here, threadText(thread)] : [here];
    say.textContent = parts.filter(Boolean).join("  ·  ") || hint;
    const spoken = fields.slice(2).map(([name, title]) => `${title} ${known[name]}`).join(", ");
    if (s.chip !== null) announce(threadText(thread));
    else if (i !== null) announce(`${here}. ${spoken}.`);
    if (lab) bars(i ?? 0);
  }

  // -- banks
  const panel = lab ? fkBanks(view, uid, radios) : null;
  function bars(i) { if (view.kind() === "banks") panel.update(i); }

  const live = el("div", { class: "fkx-live", role: "status", "aria-live": "polite" });
  let timer = 0;
  function announce(text) {
    clearTimeout(timer);
    timer = setTimeout(() => { live.textContent = text; }, 150);
  }
  const legend = el("p", { class: "fkx-legend" });
  const legends = { offset: "number and colour: the offset, darker further on in memory",
    tile: "number: the offset; colour and frame: the tile", bank:
    `number and colour: the bank${lab ? "" : ", if the tensor lies in shared memory"}`, sector:
    "number and colour: the 32-byte sector, if the first element begins one",
    thread: "T and colour: the thread that holds the element; V: as which of its values" };

  function step() {
    const now = d.steps[s.step], banks = now.kind === "banks";
    const sliced = ["compose", "slice"].includes(now.kind);
    names.forEach((name, i) => (i === s.step ? name.setAttribute("aria-current", "step")
      : name.removeAttribute("aria-current")));
    back.setAttribute("aria-disabled", s.step === 0);
    next.setAttribute("aria-disabled", s.step === d.steps.length - 1);
    words.textContent = filled(now.words);
    code.textContent = filled(now.code);
    result.textContent = layoutText();
    modes.textContent = `# ${now.modes}`;
    show.update();
    if (tiles) { tiles.node.hidden = !(sliced || now.kind === "tile"); tiles.update(s.tile); }
    if (threads) { threads.node.hidden = banks; threads.update(now.kind === "slice" ? s.thread : -1); }
    if (panel) panel.node.hidden = !banks;
    legend.textContent = legends[s.show];
  }
  const title = el("div", { class: "fkx-head" }, el("code", {}, d.title),
    el("span", { class: "fkx-soft" }, `${d.dtype}, ${d.bits} bits an element`));
  const before = [title, nav, block, ...(panel ? [panel.node] : []),
    el("div", { class: "fkx-row" }, show.node), ...(tiles ? [tiles.node] : []),
    ...(threads ? [threads.node] : []), list, say];
  return { before, legend, live, step, stepText, tell, announce,
    warp: (i) => panel.warp(i).cells };
}

// The sliders of shared memory, and what each bank has to serve when a warp reads a line.
function fkBanks(view, uid, radios) {
  const { s, d, place, at } = view, { lab } = d, el = fkNode;
  const elements = (n) => (n ? `${n} element${n === 1 ? "" : "s"} a row` : "none");
  function slider(text, most, get, set, format) {
    const id = `${uid}-${text.replace(/ /g, "-")}`;
    const output = el("output", { for: id }), input = el("input", { id, type: "range", min: 0, max: most, step: 1,
      oninput: () => { set(Number(input.value)); view.redraw(); announceSoon(); } });
    const update = () => {
      input.value = get();
      output.textContent = format(get());
      input.setAttribute("aria-valuetext", format(get()));
    };
    return { update, node: el("label", { for: id }, el("span", {}, text), output, input) };
  }
  const sliders = [];
  if (lab.pad_mode !== null) sliders.push(slider("row padding", 8, () => s.pad,
    (n) => { s.pad = n; s.choice = 0; }, elements));
  if (lab.swizzles.length > 1) sliders.push(slider("swizzle", lab.swizzles.length - 1,
    () => s.choice, (n) => { s.choice = n; s.pad = 0; },
    (n) => (n ? `S<${lab.swizzles[n]}>` : "none")));
  const along = radios("a warp reads", [["column", "a column"], ["row", "a row"]], () => s.along,
    (value) => { s.along = value; view.paint(); });
  const verdict = el("b"), why = el("span"), other = el("span", { class: "fkx-soft" });
  const head = el("div", { class: "fkx-verdict" }, verdict, why, other);
  const bars = Array.from({ length: 32 }, (_, b) => {
    const bar = el("i", { style: `background:${d.palette.bank[b]}` }), count = el("u");
    const name = el("em", { class: b % 4 ? "odd" : "" }, b % 4 ? "" : String(b));
    return { bar, count, node: el("span", {}, bar, count, name) };
  });
  const chart = el("div", { class: "fkx-bars", role: "img" }, ...bars.map((bar) => bar.node));
  const node = el("section", { "aria-label": "Banks" }, el("div", { class: "fkx-lab",
    hidden: !sliders.length }, ...sliders.map((x) => x.node)), along.node, head, chart);
  let announceSoon = () => {};

  // Up to 32 elements of the row or the column of an element, and the words that banks serve.
  function warp(i, which = s.along) {
    const [r, c] = place(i), number = which === "column" ? r : c, from = number - (number % 32);
    const cells = [];
    for (let k = from; k < from + 32; k++) {
      const cell = which === "column" ? at(k, c) : at(r, k);
      if (cell >= 0) cells.push(cell);
    }
    const words = wordsOfBanks(cells.map((cell) => view.offsets()[cell]), d.bits);
    return { cells, words, ways: Math.max(...words), name: `${which} ${which === "column" ? c : r}` };
  }
  const conflict = (ways) => (ways === 1 ? "no conflict" : `${ways}-way conflict`);
  function update(i) {
    const now = warp(i), rest = warp(i, s.along === "column" ? "row" : "column");
    const used = now.words.filter(Boolean).length;
    verdict.textContent = conflict(now.ways);
    why.textContent = `${now.name}: ${now.cells.length} lanes need words of ${used} bank`
      + `${used === 1 ? "" : "s"}, served in ${now.ways} turn${now.ways === 1 ? "" : "s"}`;
    other.textContent = `${rest.name}: ${conflict(rest.ways)}`;
    bars.forEach(({ bar, count }, b) => {
      const n = now.words[b], share = n ? Math.max(n / now.cells.length, 0.05) * 80 : 0;
      bar.style.height = `${share}%`;
      bar.style.display = n ? "" : "none";
      count.textContent = n > 1 ? n : "";
      count.style.bottom = `${share}%`;
    });
    chart.setAttribute("aria-label", "Words that each bank serves, bank 0 to 31: " + now.words.join(" "));
    sliders.forEach((x) => x.update());
    along.update();
    announceSoon = () => view.announce(`${verdict.textContent}. ${why.textContent}. `
      + `${other.textContent}.`);
  }
  return { node, warp, update };
}
