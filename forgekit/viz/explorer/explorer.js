// The layout explorer in the page: draws the payload of data.py into `root`, and answers
// to pointer, touch, keys, buttons and sliders. math.js and panels.js come before.
function fkExplorer(root, d, uid) {
  const lab = d.lab, tile = d.tile, tv = d.tv;
  const s = { step: 0, show: d.steps[0].show, tile: 0, thread: 0, cell: null, hover: null,
    chip: null, along: "column", choice: lab ? lab.own : 0,
    pad: lab && !lab.own ? lab.padding : 0 };
  const count = d.offsets.length;
  const tileOf = Array(count).fill(0), inTile = Array(count).fill(0), holders = [];
  if (tile) tile.cells.forEach((cell, k) => {
    if (cell >= 0) [tileOf[cell], inTile[cell]] = [Math.floor(k / tile.size), k % tile.size];
  });
  if (tv) tv.elements.forEach((row, t) => row.forEach((e, v) => (holders[e] ||= []).push([t, v])));
  const place = (i) => (d.modes === 2 ? [i % d.rows, Math.floor(i / d.rows)]
    : [Math.floor(i / d.columns), i % d.columns]);
  const at = (r, c) => {
    if (r < 0 || c < 0 || r >= d.rows || c >= d.columns) return -1;
    const i = d.modes === 2 ? r + c * d.rows : r * d.columns + c;
    return i < count ? i : -1;
  };
  const kind = () => d.steps[s.step].kind;
  const heldBy = (i) => (tv && holders[inTile[i]]) || [];
  const cellsOfTile = (t) => tile.cells.slice(t * tile.size, (t + 1) * tile.size);
  const cellsOfThread = (t) => tv.elements[t].map((e) => tile.cells[s.tile * tile.size + e]);
  let offsets = d.offsets;

  const view = { s, d, kind, place, at, tileOf, inTile, heldBy, cellsOfTile, cellsOfThread,
    offsets: () => offsets, go, redraw, paint, choose };
  const panels = fkPanels(view, uid);
  view.announce = panels.announce;
  const grid = fkGrid(view);
  root.append(...panels.before, grid.box, panels.legend, panels.live);

  function go(step) {
    if (step < 0 || step >= d.steps.length) return;
    s.step = step;
    s.show = d.steps[step].show;
    s.hover = s.chip = null;
    redraw();
    panels.announce(panels.stepText());
  }

  // A click, a tap, Enter: the tile and the thread of an element become the chosen ones.
  function choose(i) {
    s.cell = i;
    if (tile) s.tile = tileOf[i];
    if (heldBy(i).length) s.thread = heldBy(i)[0][0];
    redraw();
  }

  function redraw() {
    offsets = kind() === "banks" ? offsetsWith(d, s.pad, s.choice) : d.offsets;
    panels.step();
    grid.fill();
    paint();
  }

  // What lies under the pointer or the focus, and what belongs to it.
  function paint() {
    const i = s.hover ?? s.cell;
    let thread = s.chip, on = null, dim = true;
    if (thread === null && kind() === "slice") thread = s.thread;
    if (thread === null && kind() === "compose" && i !== null && tileOf[i] === s.tile) {
      thread = heldBy(i).length ? heldBy(i)[0][0] : null;
    }
    if (kind() === "banks") [on, dim] = [panels.warp(i ?? 0), false];
    else if (thread !== null && tv) on = cellsOfThread(thread);
    else if (kind() === "divide" && i !== null) on = cellsOfTile(tileOf[i]);
    else if (kind() === "tile" || kind() === "compose") on = cellsOfTile(s.tile);
    grid.mark(on && on.filter((cell) => cell >= 0), dim, s.hover ?? s.cell);
    panels.tell(i, kind() === "banks" ? null : thread);
  }

  redraw();
  return view;
}

// The picture: a grid of cells with one of them in the tab order; arrow keys walk over it.
function fkGrid(view) {
  const { s, d, place, at } = view;
  const longest = Math.max(...[d.low, d.high].map((o) => String(o).length), d.tv ? 4 : 2);
  const side = d.columns <= 8 ? 46 : d.columns <= 16 ? 38 : d.columns <= 24 ? 26 : 21;
  const w = Math.max(side, longest * 5.6 + 5), h = side, left = 30, top = 20;
  const width = left + d.columns * w + 5, height = top + d.rows * h + 5;
  const svg = fkNode("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "grid",
    "aria-label": `${d.title}: ${d.rows} rows, ${d.columns} columns of elements`,
    "aria-rowcount": d.rows, "aria-colcount": d.columns });
  const body = fkNode("g"), cells = [];
  const label = (x, y, text) =>
    fkNode("text", { x, y, "font-size": 10.5, "aria-hidden": true }, text);
  const across = fkNode("g", { class: "axis" }, fkNode("rect", { width, height: top - 2 }));
  const down = fkNode("g", { class: "axis" }, fkNode("rect", { width: left - 2, height }));
  const corner = fkNode("g", { class: "axis" }, fkNode("rect", { width: left - 2, height: top - 2 }));
  for (let c = 0; c < d.columns; c++) across.append(label(left + (c + 0.5) * w, top - 7, c));
  for (let r = 0; r < d.rows; r++) {
    const row = fkNode("g", { role: "row", "aria-rowindex": r + 1 });
    down.append(label(left - 14, top + (r + 0.5) * h + 4, d.modes === 2 ? r : r * d.columns));
    for (let c = 0; c < d.columns; c++) {
      const i = at(r, c);
      if (i < 0) continue;
      const x = left + c * w, y = top + r * h;
      const box = fkNode("rect", { x, y, width: w - 1, height: h - 1 });
      const lines = [fkNode("text", { x: x + w / 2 - 0.5 }), fkNode("text", { x: x + w / 2 - 0.5 })];
      const g = fkNode("g", { class: "c", role: "gridcell", tabindex: -1, "data-i": i,
        "aria-colindex": c + 1 }, box, ...lines);
      cells[i] = { g, box, lines, x, y };
      row.append(g);
    }
    body.append(row);
  }
  const edge = fkNode("path", { class: "edge" }), mark = fkNode("path", { class: "mark" });
  const halo = fkNode("rect", { class: "halo", width: w - 1, height: h - 1, rx: 2 });
  const ring = fkNode("rect", { class: "ring", width: w - 1, height: h - 1, rx: 2 });
  svg.append(body, edge, mark, halo, ring, across, down, corner);
  const box = fkNode("div", { class: "fkx-scroll", onscroll: () => { // the axes stay in sight
    across.setAttribute("transform", `translate(0 ${box.scrollTop})`);
    down.setAttribute("transform", `translate(${box.scrollLeft} 0)`);
    corner.setAttribute("transform", `translate(${box.scrollLeft} ${box.scrollTop})`);
  } }, svg);
  fkScroll(box);
  let tab = 0;
  const last = d.offsets.length - 1; // of two modes it is the lower right, of one the last too
  cells[0].g.setAttribute("tabindex", 0);

  // The sides at which neighbours belong to different groups.
  function borders(group) {
    let path = "";
    cells.forEach(({ x, y }, i) => {
      const [r, c] = place(i), mine = group(i);
      const differs = (n) => mine !== (n < 0 ? undefined : group(n));
      if (differs(at(r - 1, c))) path += `M${x - 0.5} ${y - 0.5}h${w}`;
      if (differs(at(r, c - 1))) path += `M${x - 0.5} ${y - 0.5}v${h}`;
      if (at(r + 1, c) < 0 && mine !== undefined) path += `M${x - 0.5} ${y + h - 0.5}h${w}`;
      if (at(r, c + 1) < 0 && mine !== undefined) path += `M${x + w - 0.5} ${y - 0.5}v${h}`;
    });
    return path;
  }

  const looks = {
    offset: (i, o) => [d.palette.offset[Math.min(Math.floor(((o - d.low) * d.palette.offset.length)
      / (d.high - d.low + 1)), d.palette.offset.length - 1)], o],
    tile: (i, o) => [d.palette.block[view.tileOf[i] % 8], o],
    bank: (i, o) => [d.palette.bank[bankOf(o, d.bits)], bankOf(o, d.bits)],
    sector: (i, o) => {
      const sector = Math.floor(byteOf(o, d.bits) / 32);
      return [d.palette.block[mod(sector, 8)], sector];
    },
    thread: (i) => {
      const held = view.heldBy(i);
      if (!held.length) return [d.palette.nothing, "–"];
      const more = held.length > 1 ? "+" : "";
      return [d.palette.thread[held[0][0] % 32], "T" + held[0][0], "V" + held[0][1] + more];
    },
  };

  function fill() {
    const offsets = view.offsets();
    cells.forEach(({ box, lines, y, g }, i) => {
      const [colour, ...texts] = looks[s.show](i, offsets[i]);
      const letters = Math.max(...texts.map((t) => String(t).length), 2);
      const size = Math.min(13, h * (texts.length > 1 ? 0.34 : 0.42), (w - 4) / (letters * 0.58));
      box.setAttribute("fill", colour);
      lines.forEach((line, k) => {
        line.textContent = texts[k] ?? "";
        line.setAttribute("font-size", size.toFixed(1));
        const middle = (h - 1) / 2 + (texts.length > 1 ? (k - 0.5) * size * 1.12 : 0);
        line.setAttribute("y", (y + middle + size * 0.35).toFixed(1));
      });
      g.setAttribute("aria-label", `${shown(coordinate(i, d.shape))}, ${texts.join(" ")}`);
    });
    const tiled = ["divide", "tile", "compose", "slice"].includes(view.kind());
    edge.setAttribute("d", tiled && d.tile ? borders((i) => view.tileOf[i]) : borders(() => 0));
  }

  function markCells(on, dim, current) {
    const set = new Set(on || []);
    body.classList.toggle("dim", Boolean(on) && dim);
    cells.forEach(({ g }, i) => g.classList.toggle("on", set.has(i)));
    mark.setAttribute("d", on ? borders((i) => (set.has(i) ? 1 : undefined)) : "");
    for (const rect of [halo, ring]) {
      rect.style.display = current === null ? "none" : "";
      if (current !== null) {
        rect.setAttribute("x", cells[current].x);
        rect.setAttribute("y", cells[current].y);
      }
    }
  }

  const indexOf = (event) => {
    const cell = event.target.closest?.(".c");
    return cell ? Number(cell.dataset.i) : null;
  };
  function moveTo(i) {
    cells[tab].g.setAttribute("tabindex", -1);
    cells[(tab = i)].g.setAttribute("tabindex", 0);
    cells[i].g.focus({ preventScroll: true });
    const here = box.getBoundingClientRect(), there = cells[i].box.getBoundingClientRect();
    box.scrollLeft += Math.min(there.left - here.left - left - 4, 0)
      + Math.max(there.right - here.right + 4, 0);
    box.scrollTop += Math.min(there.top - here.top - top - 4, 0)
      + Math.max(there.bottom - here.bottom + 4, 0);
    const now = cells[i].box.getBoundingClientRect();
    if (now.top < 0 || now.bottom > innerHeight) cells[i].box.scrollIntoView({ block: "nearest" });
  }
  svg.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    s.hover = indexOf(event);
    view.paint();
  });
  svg.addEventListener("pointerleave", () => { s.hover = null; view.paint(); });
  svg.addEventListener("focusin", (event) => {
    s.cell = indexOf(event);
    s.hover = s.chip = null;
    view.paint();
  });
  svg.addEventListener("click", (event) => {
    const i = indexOf(event);
    if (i === null) return;
    moveTo(i);
    view.choose(i);
  });
  svg.addEventListener("keydown", (event) => {
    const i = indexOf(event);
    if (i === null || event.altKey || event.metaKey) return;
    const [r, c] = place(i), all = event.ctrlKey;
    const next = {
      ArrowUp: () => at(r - 1, c), ArrowDown: () => at(r + 1, c), ArrowLeft: () => at(r, c - 1),
      ArrowRight: () => at(r, c + 1), Home: () => at(all ? 0 : r, 0),
      End: () => (all ? last : Math.max(at(r, d.columns - 1), at(r, (d.offsets.length - 1) % d.columns))),
    }[event.key];
    if (next && !(all && event.key.startsWith("Arrow"))) {
      if (next() >= 0) moveTo(next());
    } else if (event.key === "Enter" || event.key === " ") view.choose(i);
    else if (event.key === "Escape") { s.cell = null; view.paint(); }
    else return;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab has keys of its own
  });
  return { box, fill, mark: markCells };
}
