// The layout playground: reads the fields, computes with layouts.js, draws; the address keeps it all.
"use strict";
(() => {

const HELD = 2048, SIDE = 64; // offsets, and rows and columns, that a picture has room for
const FIRST = "layout=(6,8):(8,1)&op=zipped_divide&by=(2,4)";
// What the second field is called, and an example; "" for operations that have none.
const BY = {
  "": "", right_inverse: "", left_inverse: "",
  coalesce: ["Profile", "(1,1), or nothing"], complement: ["Of a size, shape or layout", "24"],
  composition: ["With a layout or tiler", "(4,2):(2,1) or (2,_)"],
  make_layout_tv: ["Layout of one thread's values", "(1,2):(2,1)"],
  slice: ["Coordinate with _", "(_,0)"], swizzle: ["Swizzle", "S<2,0,3>"],
};
const named = (op) => BY[op] ?? (op.endsWith("divide") ? ["Tiler", "(2,4)"] : ["Tiler", "(3,4):(1,3)"]);
// Okabe and Ito's, for tiles and copies; viridis for threads, which have an order.
const HUES = ["#9AD2F1", "#F0C566", "#66C5AB", "#E0AECA", "#F6EF9F", "#8FBFDF", "#E89E66", "#BEB9DD"];
const VIRIDIS = ["#440154", "#46327E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39", "#FDE725"];
const RAMP = ["#FCFBDC", "#DDF0BC", "#ADDDB5", "#7CC7BF", "#5FB0CE"];
const element = (id) => document.getElementById(`pg-${id}`);

function node(tag, attributes = {}, ...kids) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...kids);
  return made;
}

// -- the address ------------------------------------------------------------------------------------
const FIELDS = ["layout", "op", "by", "bits", "colour", "at"];
const fieldOf = (name) => element("form").elements[name] ?? element("coord");

function fromAddress() {
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : FIRST);
  for (const name of FIELDS) fieldOf(name).value = state.get(name) ?? (name === "bits" ? "32" : "");
  if (element("op").selectedIndex < 0) element("op").value = "";
  update();
}

function toAddress() {
  const plain = (words) => encodeURIComponent(words)
    .replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%20/g, "+");
  const pairs = FIELDS.map((name) => [name, fieldOf(name).value.trim()])
    .filter(([name, words]) => words && !(name === "bits" && words === "32"));
  history.replaceState(null, "", `#${pairs.map(([n, w]) => `${n}=${plain(w)}`).join("&")}`);
}

// -- what is computed ---------------------------------------------------------------------------------
// Runs f; what it refuses is said below the fields, at the field that has the mistake.
function tried(field, f) {
  const fault = element(`${field}-fault`);
  fault.textContent = "";
  fieldOf(field).removeAttribute("aria-invalid");
  try {
    return f();
  } catch (error) {
    if (!(error instanceof LayoutError)) throw error;
    fault.textContent = error.message;
    fieldOf(field).setAttribute("aria-invalid", "true");
    return undefined;
  }
}

function computed() {
  const op = element("op").value, field = named(op), words = element("by").value.trim();
  element("by-field").hidden = !field;
  if (field) {
    element("by-field").firstChild.textContent = field[0];
    element("by-hint").textContent = `such as ${field[1]}`;
  }
  const a = tried("layout", () => {
    const given = asWhole(read(element("layout").value));
    cosizeOf(given.outer ?? given);
    return given;
  });
  const found = tried("by", () => {
    if (a === undefined) return undefined;
    if (!field) return [null, OPERATIONS[op](a, null)];
    const optional = op === "coalesce" || op === "complement";
    if (!words && !optional) refuse(field[0], "nothing", `something such as ${field[1]}`, "type it");
    const by = words ? read(words) : null;
    if (op === "swizzle" && !isSwizzle(by)) refuse("swizzle", text(by), "a swizzle", "write S<2,0,3>");
    const result = OPERATIONS[op](a, by);
    offsetAt(result, 0);
    return [by, result];
  });
  return found && { op, a, by: found[0], result: found[1] };
}

// Offset -> [tile, copy or thread; element in it], of a layout whose modes say so.
function groupsOf({ op, a, by, result }) {
  let kind = "", pairs = null, turn = false;
  if (op.endsWith("divide")) {
    [kind, pairs] = ["tile", (Number.isInteger(by) ? logicalDivide : zippedDivide)(a, by)];
  } else if (op.endsWith("product")) {
    [kind, pairs] = ["copy", logicalProduct(a, by)];
  } else if (op === "make_layout_tv" || (op === "composition" && isLayout(by))) {
    [kind, pairs, turn] = ["thread", result, true];
  }
  const modes = pairs ? modesOf(pairs.outer ?? pairs).map(sizeOf) : [];
  if (modes.length !== 2 || modes[0] * modes[1] > COUNTED) return null;
  const of = new Map();
  for (let j = 0; j < modes[1]; j++) {
    for (let i = 0; i < modes[0]; i++) {
      const key = text(offsetAt(pairs, [i, j]));
      if (!of.has(key)) of.set(key, turn ? [i, j] : [j, i]);
    }
  }
  return { kind, of, count: modes[turn ? 0 : 1] };
}

// A layout as rows and columns: mode 0 goes down, the others across; one mode alone goes across.
function tableOf(a) {
  const shape = (a.outer ?? a).shape;
  const [down, ...across] = Array.isArray(shape) && shape.length > 1 ? shape : [1, shape];
  const single = !(Array.isArray(shape) && shape.length > 1);
  const rows = product(down), columns = product(across);
  const wide = across.length === 1 ? across[0] : across;
  return { shape, rows, columns, single, head: (r) => (single ? "" : text(coordinate(r, down))),
    top: (c) => text(coordinate(c, wide)) };
}

// -- what is said -------------------------------------------------------------------------------------
const ways = (count) => (count === 1 ? "no conflict" : `a ${count}-way conflict`);

function facts({ op, a, by, result }, bits) {
  const outer = result.outer ?? result, said = [];
  const count = sizeOf(result);
  const covered = coverage(result), start = outer === result ? "It" : "Before the swizzle it";
  said.push(`${elements(count)}.${covered && ` ${covered.replace("It", start)}.`}`);
  if (op === "make_layout_tv") said.push(`The tile is ${text(makeLayoutTV(a, by)[0])}; the layout `
    + "leads from (thread,value) to the index in it, down its columns.");
  if (op === "slice") said.push(`The slice begins at offset ${text(slice(a, by)[1])}.`);
  const { rows, columns, single } = tableOf(result);
  const numbers = Number.isInteger(offsetAt(result, 0)) && count <= COUNTED && op !== "make_layout_tv"
    && !op.endsWith("inverse");
  if (numbers) {
    const at = (r, c) => offsetAt(result, r + c * rows);
    const line = (many, f) => Array.from({ length: many }, (_, i) => f(i));
    const worst = (outside, inside, f) => Math.max(
      ...line(outside, (o) => conflictWays(line(inside, (i) => f(o, i)), bits)));
    const across = ways(worst(rows, columns, (r, c) => at(r, c)));
    said.push(single ? `In shared memory, a warp that reads along it has ${across}.`
      : `In shared memory, a warp that reads down a column has ${ways(worst(columns, rows,
        (c, r) => at(r, c)))}, along a row ${across}.`);
  }
  return said;
}

// -- pictures ---------------------------------------------------------------------------------------
const byKey = new Map(); // what the pictures share: key -> cells
let describe = new Map(); // cell -> its words

function colourOf(groups, key, offset, bits, span) {
  const choice = element("colour").value;
  if (choice === "bank" && Number.isInteger(offset)) {
    const bank = bankOf(offset, bits);
    return [HUES[(bank >> 2) % 8], "#16191D"];
  }
  const group = groups?.of.get(key);
  if (choice === "" && groups) {
    if (!group) return null;
    if (groups.kind !== "thread") return [HUES[group[0] % 8], "#16191D"];
    const lanes = Math.min(groups.count, 32);
    const place = Math.round(((group[0] % 32) / Math.max(lanes - 1, 1)) * 7);
    return [VIRIDIS[place], place < 4 ? "#FFFFFF" : "#16191D"];
  }
  if (!Number.isInteger(offset)) return null;
  const place = Math.floor((Math.abs(offset) / Math.max(span, 1)) * (RAMP.length - 0.01));
  return [RAMP[Math.min(place, RAMP.length - 1)], "#16191D"];
}

function cell(key, words, small, colour, says) {
  const made = node("td", { tabindex: -1, class: colour ? "" : "pg-plain" }, words);
  if (small) made.append(node("small", {}, small));
  if (colour) made.style.cssText = `background:${colour[0]};color:${colour[1]}`;
  describe.set(made, says);
  if (key !== null) {
    made.dataset.key = key;
    if (!byKey.has(key)) byKey.set(key, []);
    byKey.get(key).push(made);
  }
  return made;
}

function picture(title, note, columns, rows) {
  const grid = node("table", { role: "grid", "aria-label": title },
    node("thead", {}, node("tr", {}, node("td"), ...columns.map((c) => node("th", { scope: "col" }, c)))),
    node("tbody", {}, ...rows.map(([head, cells]) =>
      node("tr", {}, node("th", { scope: "row" }, head), ...cells))));
  const cells = [...grid.querySelectorAll("td[tabindex]")];
  if (cells.length) cells[0].tabIndex = 0;
  const letters = Math.max(...cells.map((c) => c.firstChild?.textContent.length ?? 0));
  const dense = columns.length > 18; // narrow cells, but no number is cut off
  if (dense) { // 32 banks fit the page up to 4 digits, and scroll beyond
    grid.style.minWidth = `${columns.length * Math.max(1.36, 0.4 * letters - 0.22) + 2.6}rem`;
    if (letters > 3) grid.style.fontSize = "0.59rem";
  }
  grid.addEventListener("keydown", (event) => walk(event, grid));
  const box = node("div", { class: "pg-scroll" }, grid);
  return node("figure", { class: dense ? "pg-dense" : "" }, node("figcaption", {}, node("b", {}, title), note), box);
}

function drawn(title, a, show) {
  const { rows, columns, single, head, top } = tableOf(a);
  const seen = [Math.min(rows, SIDE), Math.min(columns, SIDE)];
  const cut = rows > SIDE || columns > SIDE ? `, the first ${seen.join(" × ")} of ${rows} × ${columns}` : "";
  const lines = Array.from({ length: seen[0] }, (_, r) => [head(r),
    Array.from({ length: seen[1] }, (_, c) => show(r + c * rows))]);
  const tops = Array.from({ length: seen[1] }, (_, c) => top(c));
  return picture(title, ` ${text(a)}${single ? "" : ", mode 0 down"}${cut}`, tops, lines);
}

// Offsets in a row as banks are, with the index of the coordinate that each is of.
function memory(held, low, span, colour, bits) {
  const wide = Math.min(32, Math.max(1024 / bits, 8)), shown = Math.min(span, HELD);
  const rows = [];
  for (let start = 0; start < shown; start += wide) {
    rows.push([low + start, Array.from({ length: Math.min(wide, shown - start) }, (_, i) => {
      const offset = low + start + i, indices = held.get(offset) ?? [];
      const says = indices.length ? `held by ${indices.slice(0, 6).join(", ")}` : "held by no coordinate";
      const made = cell(String(offset), indices.length > 1 ? `${indices.length}×` : indices[0] ?? "", "",
        indices.length === 1 ? colour(String(offset), offset) : null, `offset ${offset}, ${says}`);
      if (indices.length !== 1) made.className = indices.length ? "pg-twice" : "pg-never";
      return made;
    })]);
  }
  const cut = span > shown ? `; the first ${shown} of ${span}` : "";
  const tops = Array.from({ length: wide }, (_, i) => String(bankOf(low + i, bits)));
  return picture("Memory", ` the index that holds each offset; columns are banks${cut}`, tops, rows);
}

function draw(given) {
  const { op, a, by, result } = given, bits = Number(element("bits").value);
  byKey.clear();
  describe = new Map();
  const groups = groupsOf(given), inverse = op.endsWith("inverse");
  const left = op === "make_layout_tv" ? makeLayout(makeLayoutTV(a, by)[0]) : a;
  const start = op === "slice" ? slice(a, by)[1] : 0;
  const held = heldBy(result, start);
  const colour = (key, offset) => colourOf(groups, key, offset, bits, held?.span ?? sizeOf(left));
  const label = (key, offset) => {
    if (element("colour").value === "bank" && Number.isInteger(offset)) return `b${bankOf(offset, bits)}`;
    const group = groups?.of.get(key);
    if (!group) return "";
    return groups.kind === "thread" ? `T${group[0]} V${group[1]}` : `#${group[0]}`;
  };
  const says = (of, index, offset, key) => {
    const shape = (of.outer ?? of).shape, group = groups?.of.get(key);
    const places = Number.isInteger(offset)
      ? `, byte ${byteOf(offset, bits)}, bank ${bankOf(offset, bits)}` : "";
    const member = groups?.kind === "thread" ? "value" : "element";
    return `${text(coordinate(index, shape))}, index ${index}: offset ${text(offset)}${places}`
      + (group ? `; ${groups.kind} ${group[0]}, ${member} ${group[1]}` : "");
  };
  const leftCell = (i) => {
    const offset = offsetAt(left, i), key = text(offset);
    return cell(key, key, label(key, offset), colour(key, offset), says(left, i, offset, key));
  };
  const rightCell = (i) => {
    const offset = offsetAt(result, i), key = inverse ? String(i) : text(plus(offset, start));
    return cell(key, text(offset), label(key, offset), colour(key, offset), says(result, i, offset, key));
  };
  const pictures = [drawn(op === "make_layout_tv" ? "Tile" : "Layout", left, leftCell)];
  if (op) pictures.push(drawn("Result", result, rightCell));
  if (held && !inverse && op !== "make_layout_tv") {
    pictures.push(memory(held.of, held.low, held.span, colour, bits));
  }
  element("pictures").replaceChildren(...pictures);
}

// Offset -> indices, of a layout that is small enough and has integer offsets.
function heldBy(a, start) {
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

// -- pointer and keys -------------------------------------------------------------------------------
function mark(key) {
  for (const old of document.querySelectorAll("#pg td.pg-on")) old.classList.remove("pg-on");
  for (const same of byKey.get(key) ?? []) same.classList.add("pg-on");
}

function tell(event) {
  const made = event.target.closest("td[tabindex]");
  if (!made) return;
  mark(made.dataset.key);
  element("say").textContent = describe.get(made);
}

function walk(event, grid) {
  const rows = [...grid.tBodies[0].rows], here = event.target.closest("td");
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    Home: [0, -SIDE], End: [0, SIDE] }[event.key];
  if (!step || !here) return;
  event.preventDefault();
  event.stopPropagation(); // the theme turns pages with the arrow keys
  const [r, c] = [rows.indexOf(here.parentNode) + step[0], here.cellIndex + step[1]];
  const row = rows[Math.min(Math.max(r, 0), rows.length - 1)];
  const next = row.cells[Math.min(Math.max(c, 1), row.cells.length - 1)];
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function bothWays({ op, a, by, result }) {
  const start = op === "slice" ? slice(a, by)[1] : 0;
  const coord = element("coord").value.trim(), offset = element("offset").value.trim();
  const shape = (result.outer ?? result).shape;
  const answer = (id, f) => {
    try {
      element(id).textContent = f();
    } catch (error) {
      if (!(error instanceof LayoutError)) throw error;
      element(id).textContent = error.message;
    }
  };
  answer("coord-is", () => {
    if (!coord) return "";
    const wanted = read(coord);
    if (!flat(wanted).every(Number.isInteger)) {
      refuse("coordinate", text(wanted), "integers only", "choose the operation slice for _");
    }
    const found = offsetAt(result, wanted), index = indexAt(shape, wanted);
    mark(op.endsWith("inverse") ? String(index) : text(plus(found, start)));
    return `offset ${text(found)}, index ${index}`;
  });
  answer("offset-is", () => {
    if (!offset) return "";
    const all = heldBy(result, 0);
    const found = (all?.of.get(Number(offset)) ?? []).map((i) => text(coordinate(i, shape)));
    return found.length ? found.slice(0, 8).join("  ") : "held by no coordinate";
  });
}

function update() {
  const given = computed();
  element("answer").hidden = !given;
  if (!given) return;
  const { op, result } = given;
  element("result").textContent = text(result);
  element("facts").replaceChildren(
    ...facts(given, Number(element("bits").value)).map((words) => node("li", {}, words)));
  element("again").hidden = !op;
  element("say").textContent = "Point at a cell: its coordinate, index, offset and bank stand here.";
  draw(given);
  bothWays(given);
}

document.addEventListener("DOMContentLoaded", () => {
  if (!element("form")) return;
  const changed = () => { toAddress(); update(); };
  element("form").addEventListener("input", changed);
  element("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["coord", "offset"]) element(id).addEventListener("input", changed);
  element("again").addEventListener("click", () => {
    element("layout").value = element("result").textContent;
    for (const name of ["op", "by", "at"]) fieldOf(name).value = "";
    changed();
    element("op").focus();
  });
  element("copy").addEventListener("click", async () => {
    toAddress();
    try {
      await navigator.clipboard.writeText(location.href);
      element("copied").textContent = "Copied.";
    } catch {
      element("copied").textContent = "Copy it from the address bar.";
    }
  });
  element("pictures").addEventListener("mouseover", tell);
  element("pictures").addEventListener("focusin", tell);
  addEventListener("hashchange", fromAddress);
  fromAddress();
});
})();
