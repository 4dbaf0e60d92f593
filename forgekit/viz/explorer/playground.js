// The layout playground in the book and in notebooks. It reads the fields, computes with layouts.js
// and draws with pictures.js. `given` is the initial state: the values of the fields, the colours,
// the `steps`, and `address`, true if the page's URL keeps the typed values.
function fkPlayground(root, uid, given) {
  root.innerHTML = `<style>${FK_STYLE}</style>${FK_PAGE.replaceAll("§", uid)}`;
  root.dataset.lmSuppressShortcuts = "true"; // keeps JupyterLab's shortcuts off
  const element = (id) => root.querySelector(`[id="${uid}-${id}"]`);
  const fieldOf = (name) => element("form").elements[name] ?? element("coord");
  const state = { found: null }; // the latest valid result, shown in the pictures

  // -- the fields and the address ---------------------------------------------------------------------
  function fill(values) {
    for (const name of FK_FIELDS) fieldOf(name).value = values[name] ?? (name === "bits" ? "32" : "");
    if (fieldOf("op").selectedIndex < 0) fieldOf("op").value = "";
    update();
  }

  function fromAddress() {
    const typed = new URLSearchParams(location.hash.slice(1));
    fill(given.address && location.hash.includes("=") ? Object.fromEntries(typed) : given);
  }

  function toAddress() {
    if (!given.address) return;
    const plain = (words) => encodeURIComponent(words)
      .replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%20/g, "+");
    const pairs = FK_FIELDS.map((name) => [name, fieldOf(name).value.trim()])
      .filter(([name, words]) => words && !(name === "bits" && words === "32"));
    history.replaceState(null, "", `#${pairs.map(([n, w]) => `${n}=${plain(w)}`).join("&")}`);
  }

  // -- computing --------------------------------------------------------------------------------------
  // Runs f. If f raises an error, shows the error below the fields, and marks the field with the
  // mistake.
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
    const op = fieldOf("op").value, field = fkNamed(op), words = fieldOf("by").value.trim();
    element("by-field").hidden = !field;
    if (field) {
      element("by-field").firstElementChild.textContent = field[0];
      element("by-hint").textContent = `such as ${field[1]}`;
    }
    const a = tried("layout", () => {
      const read_ = asWhole(read(fieldOf("layout").value));
      cosizeOf(read_.outer ?? read_);
      return read_;
    });
    return tried("by", () => {
      if (a === undefined) return undefined;
      if (!field) return { op, a, by: null, result: OPERATIONS[op](a, null) };
      const optional = op === "coalesce" || op === "complement";
      if (!words && !optional) refuse(field[0], "nothing", `a value such as ${field[1]}`, "enter a value");
      const typed = words ? read(words) : null, by = op === "make_layout_tv" ? asWhole(typed) : typed;
      if (op === "swizzle" && !isSwizzle(by)) refuse("swizzle", text(by), "a swizzle", "write S<2,0,3>");
      const result = OPERATIONS[op](a, by);
      offsetAt(result, 0);
      return { op, a, by, result };
    });
  }

  function update() {
    const found = computed();
    element("answer").classList.toggle("pg-stale", !found);
    if (!found) return;
    state.found = { ...found, start: 0, ...steps.context(), bits: Number(fieldOf("bits").value) };
    element("answer").hidden = false;
    element("result").textContent = text(found.result);
    element("facts").replaceChildren(...fkFacts(state.found).map((words) =>
      fkNode("li", words.startsWith("Outside") ? { class: "pg-out" } : {}, words)));
    element("again").hidden = !found.op;
    element("say").textContent = "Point at a cell: its coordinate, index, offset and bank appear here.";
    banks.update(); // before the pictures, which mark its column or row
    pictures.draw(state.found, fieldOf("colour").value);
    bothWays(state.found);
  }

  function bothWays({ op, result }) {
    const coord = fieldOf("at").value.trim(), offset = element("offset").value.trim();
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
      pictures.mark(op.endsWith("inverse") ? String(index) : text(plus(found, fkBegin(state.found))));
      return `offset ${text(found)}, index ${index}`;
    });
    answer("offset-is", () => {
      if (!offset) return "";
      const all = fkHeld(result, 0);
      const found = (all?.of.get(Number(offset)) ?? []).map((i) => text(coordinate(i, shape)));
      return found.length ? found.slice(0, 8).join("  ") : "held by no coordinate";
    });
  }

  const view = { root, element, fieldOf, fill, state, given };
  const steps = fkSteps(view), banks = fkBanks(view), pictures = fkPictures(view, steps, banks);
  view.remark = () => pictures.mark(null);
  view.changed = ({ walking = false } = {}) => {
    if (!walking) steps.leave();
    toAddress();
    update();
  };
  element("form").addEventListener("input", ({ target }) =>
    view.changed({ walking: ["bits", "colour"].includes(target.name) }));
  element("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["coord", "offset"]) {
    element(id).addEventListener("input", () => { toAddress(); update(); });
  }
  element("again").addEventListener("click", () => {
    fieldOf("layout").value = element("result").textContent;
    for (const name of ["op", "by", "at"]) fieldOf(name).value = "";
    view.changed();
    fieldOf("op").focus();
  });
  element("copy").hidden = !given.address;
  element("copy").addEventListener("click", async () => {
    toAddress();
    try {
      await navigator.clipboard.writeText(location.href);
      element("copied").textContent = "Copied.";
    } catch {
      element("copied").textContent = "Copy it from the address bar.";
    }
  });
  if (given.address) addEventListener("hashchange", fromAddress);
  if (given.steps?.length) steps.go(0);
  else fromAddress();
}

const FK_FIELDS = ["layout", "op", "by", "bits", "colour", "at"];
// The name and an example of the second field; "" for operations without a second field.
const FK_BY = {
  "": "", right_inverse: "", left_inverse: "",
  coalesce: ["Profile", "(1,1), or nothing"], complement: ["Of a size, shape or layout", "24"],
  composition: ["With a layout or tiler", "(4,2):(2,1) or (2,_)"],
  make_layout_tv: ["Layout of one thread's values", "(1,2):(2,1)"],
  slice: ["Coordinate with _", "(_,0)"], swizzle: ["Swizzle", "S<2,0,3>"],
};
const fkNamed = (op) =>
  FK_BY[op] ?? (op.endsWith("divide") ? ["Tiler", "(2,4)"] : ["Tiler", "(3,4):(1,3)"]);

// The offset in memory at which the result of an operation begins, including that of a slice. A
// slice of a composed layout contains this offset itself.
function fkBegin({ op, a, by, start }) {
  return op === "slice" && !isComposed(a) ? plus(start, slice(a, by)[1]) : start;
}

// The coordinates that are outside their modes, each with the size of the mode.
const fkOutside = (coord, shape) => (Array.isArray(coord) && Array.isArray(shape)
  ? coord.flatMap((c, i) => fkOutside(c, shape[i]))
  : coord === null || (coord >= 0 && coord < product(shape)) ? [] : [[text(coord), product(shape)]]);

// The sentences about a result above the pictures.
function fkFacts({ op, a, by, result, bits }) {
  const ways = (count) => (count === 1 ? "no conflict" : `a ${count}-way conflict`);
  const outer = result.outer ?? result, said = [], count = sizeOf(result);
  const covered = coverage(result), start = outer === result ? "It" : "Before the swizzle it";
  said.push(grouped(`${elements(count)}.${covered && ` ${covered.replace("It", start)}.`}`));
  if (op === "make_layout_tv") said.push(`The tile is ${text(makeLayoutTV(a, by)[0])}; the layout `
    + "maps (thread,value) to an index in the tile, counted down its columns.");
  if (op === "slice") {
    said.push(`The slice begins at offset ${text(slice(a, by)[1])}.`);
    for (const [at, size] of fkOutside(by, (a.outer ?? a).shape)) {
      said.push(`Outside the layout: coordinate ${at} in a mode of size ${size} (0 to ${size - 1}). CuTe still computes `
        + "the offset; a kernel that uses it accesses memory outside the layout.");
    }
  }
  const { rows, columns, single } = fkTable(result);
  if (!Number.isInteger(offsetAt(result, 0)) || count > COUNTED || op === "make_layout_tv"
    || op.endsWith("inverse")) return said;
  const line = (many, f) => Array.from({ length: many }, (_, i) => f(i));
  const worst = (outside, inside, f) => Math.max(
    ...line(outside, (o) => conflictWays(line(inside, (i) => offsetAt(result, f(o, i))), bits)));
  const across = ways(worst(rows, columns, (r, c) => r + c * rows));
  said.push(single ? `In shared memory, a warp that reads along it has ${across}.`
    : `In shared memory, a warp that reads down a column has ${ways(worst(columns, rows,
      (c, r) => r + c * rows))}, along a row ${across}.`);
  return said;
}

const FK_PAGE = `
<section id="§-walk" aria-label="Steps" hidden>
<nav class="pg-steps" aria-label="Steps"><button type="button" id="§-back">‹ Back</button>
<button type="button" id="§-next">Next ›</button><ol id="§-names"></ol></nav>
<div class="pg-step"><p id="§-words"></p><p><code id="§-code"></code> <code id="§-modes"></code></p></div>
<div class="pg-row" id="§-chosen" hidden><label>Tile <select id="§-tile"></select></label>
<label>Thread <select id="§-thread"></select></label></div>
</section>
<form id="§-form" autocomplete="off">
<div class="pg-field pg-long"><label for="§-layout">Layout</label><input id="§-layout" name="layout" spellcheck="false" autocapitalize="off" aria-describedby="§-layout-fault"></div>
<div class="pg-field"><label for="§-op">Operation</label><select id="§-op" name="op">
<option value="">none</option>
<optgroup label="Algebra"><option>composition</option><option>coalesce</option><option>complement</option><option>right_inverse</option><option>left_inverse</option></optgroup>
<optgroup label="Divide"><option>logical_divide</option><option>zipped_divide</option><option>tiled_divide</option><option>flat_divide</option></optgroup>
<optgroup label="Product"><option>logical_product</option><option>zipped_product</option><option>tiled_product</option><option>flat_product</option><option>blocked_product</option><option>raked_product</option></optgroup>
<optgroup label="Threads, slices, banks"><option>make_layout_tv</option><option>slice</option><option>swizzle</option></optgroup>
</select></div>
<div class="pg-field pg-long" id="§-by-field"><label for="§-by">Tiler</label><input id="§-by" name="by" spellcheck="false" autocapitalize="off" aria-describedby="§-by-hint §-by-fault"><span class="pg-hint" id="§-by-hint"></span></div>
<div class="pg-field"><label for="§-bits">Element</label><select id="§-bits" name="bits"><option value="4">4 bits</option><option value="8">8 bits</option><option value="16">16 bits</option><option value="32">32 bits</option><option value="64">64 bits</option><option value="128">128 bits</option></select></div>
<div class="pg-field"><label for="§-colour">Colours</label><select id="§-colour" name="colour"><option value="">tile, copy, thread</option><option value="bank">bank</option><option value="sector">sector</option><option value="offset">offset</option></select></div>
</form>
<p class="pg-fault" id="§-layout-fault" role="alert"></p>
<p class="pg-fault" id="§-by-fault" role="alert"></p>
<div id="§-answer" hidden>
<p class="pg-result"><code id="§-result"></code></p>
<ul id="§-facts"></ul>
<p class="pg-row"><button type="button" id="§-again">Continue with the result</button> <button type="button" id="§-copy">Copy the link</button> <span id="§-copied" role="status"></span></p>
<section id="§-banks" aria-label="Banks" hidden>
<div class="pg-row"><label id="§-pad-field">Row padding <input id="§-pad" type="range" min="0" max="8" step="1"> <output id="§-pad-is" for="§-pad"></output></label>
<label id="§-swizzle-field">Swizzle <input id="§-swizzle" type="range" min="0" step="1"> <output id="§-swizzle-is" for="§-swizzle"></output></label>
<label id="§-along-field">A warp reads <select id="§-along"><option value="column">a column</option><option value="row">a row</option></select></label></div>
<p class="pg-verdict" role="status"><b id="§-verdict"></b> <span id="§-why"></span></p>
<div class="pg-bars" id="§-bars" role="img"></div>
</section>
<p class="pg-say" id="§-say" role="status"></p>
<div class="pg-pictures" id="§-pictures"></div>
<div class="pg-both">
<div class="pg-field"><label for="§-coord">Coordinate → offset</label><input id="§-coord" name="at" spellcheck="false" autocapitalize="off" placeholder="5, (1,2) or ((1,0),2)" aria-describedby="§-coord-is"><span class="pg-hint" id="§-coord-is" role="status"></span></div>
<div class="pg-field"><label for="§-offset">Offset → coordinates</label><input id="§-offset" inputmode="numeric" placeholder="17" aria-describedby="§-offset-is"><span class="pg-hint" id="§-offset-is" role="status"></span></div>
</div>
</div>`;
