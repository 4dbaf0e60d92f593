// The playground's pictures: layouts as tables of cells, memory, and the marks set by pointer and
// keys.
const FK_HELD = 2048, FK_SIDE = 64; // maximum offsets, and maximum rows and columns, in a picture

// A layout as rows and columns. Mode 0 runs down and the other modes run across; a single mode runs
// across.
function fkTable(a) {
  const shape = (a.outer ?? a).shape;
  const single = !(Array.isArray(shape) && shape.length > 1);
  const [down, ...across] = single ? [1, shape] : shape;
  const rows = product(down), columns = product(across);
  const wide = across.length === 1 ? across[0] : across;
  return { shape, rows, columns, single, head: (r) => (single ? "" : text(coordinate(r, down))),
    top: (c) => text(coordinate(c, wide)) };
}

// Maps an offset to [tile, copy or thread; element within it], for a layout whose modes describe
// these groups.
function fkGroups({ op, a, by, result, start }) {
  let kind = "", pairs = null, turn = false, inside = () => true;
  if (op.endsWith("divide")) {
    const divide = Number.isInteger(by) ? logicalDivide : zippedDivide;
    [kind, pairs, inside] = ["tile", divide(a, by), fkInside(a, by, divide)];
  } else if (op.endsWith("product")) {
    [kind, pairs] = ["copy", logicalProduct(a, by)];
  } else if (op === "make_layout_tv" || (op === "composition" && isLayout(by))) {
    [kind, pairs, turn] = ["thread", result, true];
  }
  const modes = pairs ? modesOf(pairs.outer ?? pairs).map(sizeOf) : [];
  if (modes.length !== 2 || modes[0] * modes[1] > COUNTED) return null;
  const of = new Map(), members = new Map();
  for (let j = 0; j < modes[1]; j++) {
    for (let i = 0; i < modes[0]; i++) {
      const key = text(plus(offsetAt(pairs, [i, j]), start)), group = turn ? [i, j] : [j, i];
      if (of.has(key) || !inside([i, j])) continue;
      of.set(key, group);
      if (!members.has(group[0])) members.set(group[0], []);
      members.get(group[0]).push(key);
    }
  }
  return { kind, of, members, count: modes[turn ? 0 : 1] };
}

// Separates the elements of tiles that are inside the layout from those beyond its edge, whose
// offsets belong to other elements. If they cannot be separated, all count as inside.
function fkInside(a, by, divide) {
  const shape = (a.outer ?? a).shape;
  const unit = (part, mode) => (Array.isArray(part)
    ? part.map((entry, i) => unit(entry, [...mode, i])) : { value: 1, mode });
  if (!Array.isArray(shape)) return () => true;
  try {
    const places = divide(layout(shape, unit(shape, [])), by), sizes = flat(shape);
    return (coord) => flat(offsetAt(places, coord)).every((c, i) => c < sizes[i]);
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    return () => true;
  }
}

// Maps an offset to its indices, for a layout with integer offsets that is not too large.
function fkHeld(a, start) {
  const count = sizeOf(a);
  if (count > COUNTED || !Number.isInteger(offsetAt(a, 0))) return null;
  const of = new Map();
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < count; i++) {
    const offset = offsetAt(a, i) + start;
    if (!of.has(offset)) of.set(offset, []);
    of.get(offset).push(i);
    [low, high] = [Math.min(low, offset), Math.max(high, offset)];
  }
  low = Math.min(low, 0);
  return { of, low, span: high - low + 1 };
}

// The offset of a coordinate, written as a sum such as 2×16 + 3×1 = 35, followed by the swizzle.
function fkSum(a, index) {
  const outer = a.outer ?? a, strides = flat(outer.stride);
  if (!strides.every(Number.isInteger) || (isComposed(a) && !isSwizzle(a.inner))) return "";
  const digits = flat(coordinate(index, outer.shape)), before = isComposed(a) ? a.offset : 0;
  const terms = digits.map((c, k) => `${c}×${strides[k]}`).join(" + ");
  const plain = before + digits.reduce((sum, c, k) => sum + c * strides[k], 0);
  const words = `; ${before ? `${before} + ` : ""}${terms} = ${plain}`;
  return isComposed(a) ? `${words}, which ${text(a.inner)} maps to ${offsetAt(a, index)}` : words;
}

function fkPictures(view, steps, banks) {
  const { element, given } = view;
  const byKey = new Map(); // shared by the pictures: key -> cells
  let describe = new Map(); // cell -> description
  let shown = null; // the displayed layout and its groups

  function cell(key, words, small, colour, says) {
    const made = fkNode("td", { tabindex: -1, class: colour ? "" : "pg-plain" }, words);
    if (small) made.append(fkNode("small", {}, small));
    if (colour) made.style.background = colour;
    describe.set(made, says);
    made.dataset.key = key;
    if (!byKey.has(key)) byKey.set(key, []);
    byKey.get(key).push(made);
    return made;
  }

  function table(title, note, columns, rows) {
    const grid = fkNode("table", { role: "grid", "aria-label": title },
      fkNode("thead", {}, fkNode("tr", {}, fkNode("td"),
        ...columns.map((c) => fkNode("th", { scope: "col" }, c)))),
      fkNode("tbody", {}, ...rows.map(([head, cells]) =>
        fkNode("tr", {}, fkNode("th", { scope: "row" }, head), ...cells))));
    const cells = [...grid.querySelectorAll("td[tabindex]")];
    if (cells.length) cells[0].tabIndex = 0;
    const letters = Math.max(...cells.map((c) => c.firstChild?.textContent.length ?? 0));
    const dense = columns.length > 18; // narrow cells, wide enough for every number
    if (dense) { // 32 banks fit the page up to 4 digits, and scroll beyond
      grid.style.minWidth = `${columns.length * Math.max(22, 6.4 * letters - 3.5) + 42}px`;
      if (letters > 3) grid.classList.add("pg-small");
    }
    grid.addEventListener("keydown", (event) => walk(event, grid));
    return fkNode("figure", { class: dense ? "pg-dense" : "" },
      fkNode("figcaption", {}, fkNode("b", {}, title), note),
      fkNode("div", { class: "pg-scroll" }, grid));
  }

  function drawn(title, a, show) {
    const { rows, columns, single, head, top } = fkTable(a);
    const seen = [Math.min(rows, FK_SIDE), Math.min(columns, FK_SIDE)];
    const cut = rows > FK_SIDE || columns > FK_SIDE
      ? grouped(`, the first ${seen.join(" × ")} of ${rows} × ${columns}`) : "";
    const lines = Array.from({ length: seen[0] }, (_, r) => [head(r),
      Array.from({ length: seen[1] }, (_, c) => show(r + c * rows))]);
    const tops = Array.from({ length: seen[1] }, (_, c) => top(c));
    return table(title, ` ${text(a)}${single ? "" : ", mode 0 down"}${cut}`, tops, lines);
  }

  // Offsets in rows of 32 banks, each with the index of the coordinate that maps to it.
  function memory({ of, low, span }) {
    const { bits } = shown, wide = Math.min(32, Math.max(1024 / bits, 8));
    const most = Math.min(span, FK_HELD), rows = [];
    for (let start = 0; start < most; start += wide) {
      rows.push([low + start, Array.from({ length: Math.min(wide, most - start) }, (_, i) => {
        const offset = low + start + i, indices = of.get(offset) ?? [];
        const says = indices.length ? `held by ${indices.slice(0, 6).join(", ")}` : "held by no coordinate";
        const made = cell(String(offset), indices.length > 1 ? `${indices.length}×` : indices[0] ?? "", "",
          indices.length === 1 ? colourOf(String(offset), offset) : null, `offset ${offset}, ${says}`);
        if (indices.length !== 1) made.className = indices.length ? "pg-twice" : "pg-never";
        return made;
      })]);
    }
    const cut = span > most ? grouped(`; the first ${most} of ${span}`) : "";
    const tops = Array.from({ length: wide }, (_, i) => String(bankOf(low + i, bits)));
    return table("Memory", ` the index that holds each offset; columns are banks${cut}`, tops, rows);
  }

  const sectorOf = (offset) => Math.floor(byteOf(offset, shown.bits) / 32);

  function colourOf(key, offset) {
    const { colour, groups, kept, bits, low, span } = shown, { palette } = given;
    if (kept && !kept.has(key)) return null;
    if (colour === "" && groups) {
      const [group] = groups.of.get(key) ?? [null];
      if (group === null) return null;
      if (groups.kind !== "thread") return palette.block[group % 8];
      return palette.thread[Math.round(((group % 32) * 31) / Math.max(Math.min(groups.count, 32) - 1, 1))];
    }
    if (!Number.isInteger(offset)) return null;
    if (colour === "bank") return palette.bank[bankOf(offset, bits)];
    if (colour === "sector") return palette.block[mod(sectorOf(offset), 8)];
    const stops = palette.offset, last = stops.length - 1; // continuous, without steps within a row
    const place = Math.min(Math.max((offset - low) / Math.max(span - 1, 1), 0), 1) * last;
    const from = Math.min(Math.floor(place), last - 1);
    return `color-mix(in srgb, ${stops[from + 1]} ${((place - from) * 100).toFixed(1)}%, ${stops[from]})`;
  }

  function labelOf(key, offset) {
    const { colour, groups, bits } = shown;
    if (colour === "bank" && Number.isInteger(offset)) return `b${bankOf(offset, bits)}`;
    if (colour === "sector" && Number.isInteger(offset)) return `s${sectorOf(offset)}`;
    const group = groups?.of.get(key);
    if (!group) return "";
    return groups.kind === "thread" ? `T${group[0]} V${group[1]}` : `#${group[0]}`;
  }

  function says(a, index, offset, key) {
    const { groups, bits } = shown, group = groups?.of.get(key);
    const number = Number.isInteger(offset);
    const places = number ? `, byte ${byteOf(offset, bits)}, bank ${bankOf(offset, bits)}, `
      + `sector ${sectorOf(offset)}, 128-byte line ${Math.floor(sectorOf(offset) / 4)}` : "";
    const member = groups?.kind === "thread" ? "value" : "element";
    return `${text(coordinate(index, (a.outer ?? a).shape))}, index ${index}: offset ${text(offset)}`
      + places + (group ? `; ${groups.kind} ${group[0]}, ${member} ${group[1]}` : "")
      + fkSum(a, index) + (group && number ? holds(group[0]) : "");
  }

  function holds(group) {
    const offsets = shown.groups.members.get(group).map(Number);
    const sectors = elements(new Set(offsets.map(sectorOf)).size, "sector");
    const named = offsets.length > 12 ? [...offsets.slice(0, 12), "…"] : offsets;
    return `. ${shown.groups.kind === "thread" ? "Thread" : shown.groups.kind === "tile" ? "Tile" : "Copy"} `
      + `${group} holds ${elements(offsets.length)} in ${sectors}, at offsets ${named.join(", ")}`;
  }

  function draw(found, colour) {
    const { op, a, by, result, start, tensor } = found, inverse = op.endsWith("inverse");
    const left = tensor ?? (op === "make_layout_tv" ? makeLayout(makeLayoutTV(a, by)[0]) : a);
    const begin = fkBegin(found);
    const held = tensor ? fkHeld(tensor, 0) : fkHeld(result, begin);
    const kept = op === "slice" && sizeOf(result) <= COUNTED
      ? new Set(Array.from({ length: sizeOf(result) }, (_, i) => text(plus(offsetAt(result, i), begin))))
      : null;
    shown = { ...found, colour, kept, groups: found.groups ?? fkGroups(found),
      low: held?.low ?? 0, span: held?.span ?? sizeOf(left) };
    byKey.clear();
    describe = new Map();
    const leftCell = (i) => {
      const offset = offsetAt(left, i), key = text(offset);
      return cell(key, key, labelOf(key, offset), colourOf(key, offset), says(left, i, offset, key));
    };
    const rightCell = (i) => {
      const offset = inverse ? offsetAt(result, i) : plus(offsetAt(result, i), begin);
      const key = inverse ? String(i) : text(offset);
      return cell(key, text(offset), labelOf(key, offset), colourOf(key, offset),
        says(result, i, offset, key));
    };
    const name = tensor ? "Tensor" : op === "make_layout_tv" ? "Tile" : "Layout";
    const figures = [drawn(name, left, leftCell)];
    if (op) figures.push(drawn("Result", result, rightCell));
    if (held && !inverse && op !== "make_layout_tv") figures.push(memory(held));
    replaced(figures);
    if (banks.line()) mark(null);
  }

  // Replaces the pictures, and keeps the scroll positions and the focus.
  function replaced(figures) {
    const pictures = element("pictures"), active = document.activeElement;
    const at = [...pictures.children].findIndex((figure) => figure.contains(active));
    const before = [...pictures.querySelectorAll(".pg-scroll")].map((b) => [b.scrollLeft, b.scrollTop]);
    pictures.replaceChildren(...figures);
    pictures.querySelectorAll(".pg-scroll").forEach((box, i) => {
      [box.scrollLeft, box.scrollTop] = before[i] ?? [0, 0];
    });
    const same = [...(figures[at]?.querySelectorAll("td[tabindex]") ?? [])]
      .find((td) => td.dataset.key === active.dataset.key);
    if (same) focused(figures[at].querySelector("td[tabindex='0']"), same);
  }

  function focused(before, next) {
    before.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // -- pointer and keys -------------------------------------------------------------------------------
  // Marks an element in every picture, together with its tile or thread, or with the other elements
  // of its warp.
  function mark(key) {
    for (const old of view.root.querySelectorAll("td.pg-on, td.pg-with")) {
      old.classList.remove("pg-on", "pg-with");
    }
    const group = shown.groups?.of.get(key)?.[0];
    const line = banks.line();
    for (const other of line ?? shown.groups?.members.get(group) ?? []) {
      for (const same of byKey.get(other) ?? []) same.classList.add("pg-with");
    }
    for (const same of byKey.get(key) ?? []) same.classList.add("pg-on");
  }

  function tell(event) {
    const made = event.target.closest("td[tabindex]");
    if (!made) return;
    banks.point(made.dataset.key);
    mark(made.dataset.key);
    element("say").textContent = describe.get(made);
  }

  function walk(event, grid) {
    const rows = [...grid.tBodies[0].rows], here = event.target.closest("td");
    if (here && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      steps.choose(here.dataset.key);
      return;
    }
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -FK_SIDE], End: [0, FK_SIDE] }[event.key];
    if (!step || !here) return;
    event.preventDefault();
    event.stopPropagation(); // the book's theme turns pages with the arrow keys
    const [r, c] = [rows.indexOf(here.parentNode) + step[0], here.cellIndex + step[1]];
    const row = rows[Math.min(Math.max(r, 0), rows.length - 1)];
    focused(here, row.cells[Math.min(Math.max(c, 1), row.cells.length - 1)]);
  }

  element("pictures").addEventListener("mouseover", tell);
  element("pictures").addEventListener("focusin", tell);
  element("pictures").addEventListener("click", (event) => {
    const made = event.target.closest("td[tabindex]");
    if (made) steps.choose(made.dataset.key);
  });
  return { draw, mark };
}
