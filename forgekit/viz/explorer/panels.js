// The playground's panels: steps from a tensor to one thread's elements, and banks of shared memory.

// Each step applies an operation to the result of the previous step. In its texts, `{tile}` and
// `{thread}` are the current choices, and `{begin}` is the offset at which its result begins.
function fkSteps(view) {
  const { element, given } = view, { steps = [] } = given, chosen = { tile: 0, thread: 0 };
  const names = steps.map((step, i) => fkNode("button", { type: "button" }, `${i + 1} ${step.name}`));
  let now = null;

  function trail() {
    let a = asWhole(read(given.layout)), start = 0, rest = null, groups = null;
    return steps.map(({ op, by }) => {
      const words = rest ? text(coordinate(chosen.tile, rest)) : "";
      const typed = by.replace("{tile}", words).replace("{thread}", chosen.thread);
      const made = { op, a, by: op ? read(typed) : null, typed, start, tile: words };
      made.result = OPERATIONS[op](a, made.by);
      made.groups = groups = op === "slice" ? groups : fkGroups(made);
      if (op === "zipped_divide") rest = modesOf(made.result.outer ?? made.result)[1].shape;
      [a, start] = [made.result, fkBegin(made)];
      return { ...made, rest, begin: plus(offsetAt(a, 0), start) };
    });
  }

  function go(step) {
    if (step < 0 || step >= steps.length) return;
    now = step;
    const at = trail()[step], { colour, code, modes, words } = steps[step];
    const values = { tile: at.tile, thread: chosen.thread, begin: text(at.begin) };
    const filled = (said) => said.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
    element("words").parentNode.hidden = false;
    element("words").textContent = filled(words);
    element("code").textContent = filled(code);
    element("modes").textContent = `# ${modes}`;
    view.fill({ layout: text(at.a), op: at.op, by: at.typed, bits: given.bits, colour });
    show();
  }

  function show() {
    names.forEach((name, i) => (i === now ? name.setAttribute("aria-current", "step")
      : name.removeAttribute("aria-current")));
    element("back").disabled = now === 0;
    element("next").disabled = now === steps.length - 1;
    for (const name of ["tile", "thread"]) element(name).value = chosen[name];
  }

  // Chooses the tile that holds an element, and then the thread of that tile.
  function choose(key) {
    if (now === null || steps.length < 2) return;
    for (const kind of ["tile", "thread"]) {
      const groups = trail().map((made) => made.groups).findLast((found) => found?.kind === kind);
      chosen[kind] = groups?.of.get(key)?.[0] ?? chosen[kind];
    }
    go(now);
  }

  // Texts about the context of a step: the tensor, and the part of the tensor that the fields show.
  function context() {
    if (now === null || steps.length < 2) return {};
    const { start, groups } = trail()[now];
    return { start, groups, tensor: asWhole(read(given.layout)) };
  }

  function leave() {
    if (now === null) return;
    now = null;
    element("words").parentNode.hidden = true;
    for (const name of names) name.removeAttribute("aria-current");
    for (const side of ["back", "next"]) element(side).disabled = true;
  }

  function options(name, count, words) {
    const field = element(name);
    field.parentNode.hidden = count < 2;
    field.append(...Array.from({ length: count }, (_, i) => fkNode("option", { value: i }, words(i))));
    field.addEventListener("change", () => { chosen[name] = Number(field.value); go(now ?? 0); });
  }

  if (steps.length) {
    element("walk").hidden = false;
    element("names").append(...names.map((name) => fkNode("li", {}, name)));
    element("names").parentNode.hidden = steps.length < 2;
    names.forEach((name, i) => name.addEventListener("click", () => go(i)));
    element("back").addEventListener("click", () => go(now - 1));
    element("next").addEventListener("click", () => go(now + 1));
    const walked = trail(), { rest, groups } = walked.at(-1);
    const threads = groups?.kind === "thread" ? groups.count : 0;
    options("tile", rest ? product(rest) : 0, (i) => text(coordinate(i, rest)));
    options("thread", threads, (i) => `T${i}`);
    element("chosen").hidden = !rest && !threads;
  }
  return { go, choose, context, leave };
}

// Describes a tile in shared memory as rows: the mode that steps from row to row, the length of a
// row, its stride without padding, and the padding; null for a layout that does not consist of such
// rows.
function fkRows(a) {
  const own = isComposed(a) && isSwizzle(a.inner) && a.offset === 0 ? a.inner : null;
  const outer = isComposed(a) && own ? a.outer : a;
  if (isComposed(outer) || flat(outer.shape).length !== 2 || asParts(outer.shape).length !== 2
    || !flat(outer.stride).every(Number.isInteger)) return null;
  const [sizes, strides] = [flat(outer.shape), flat(outer.stride)];
  for (const [along, mode] of [[1, 0], [0, 1]]) {
    const extent = sizes[along], padding = strides[mode] - extent;
    if (strides[along] !== 1 || padding < 0 || sizes[mode] < 2) continue;
    const plain = padding > FK_MOST_PADDING ? strides[mode] : extent;
    return { shape: outer.shape, mode, extent, many: sizes[mode], plain, own,
      padding: strides[mode] - plain };
  }
  return null;
}
const FK_MOST_PADDING = 8; // elements

// Swizzles that XOR an element's bank with the number of its row or, if a 128-byte line contains
// several rows, of its line. They use from one bit up to all useful bits. There are none unless the
// sizes are powers of two.
function fkSwizzles({ extent, many, own }, bits) {
  const log = (n) => Math.floor(Math.log2(Math.max(n, 1)));
  const found = [null];
  if (!(extent & (extent - 1)) && !(many & (many - 1))) {
    const base = log(32 / bits), banks = 5 - log(bits / 32); // keeps the elements of a bank together
    const shift = Math.max(log(extent) - base, banks);
    const most = Math.min(banks, log(extent) - base, log(extent * many) - base - shift);
    for (let b = 1; b <= most; b++) found.push(makeSwizzle(b, base, shift));
  }
  if (own && !found.some((s) => s && text(s) === text(own))) found.push(own);
  return found;
}

function fkBanks(view) {
  const { element, fieldOf, state, given } = view;
  let keys = null, pointed = null, choices = [null], rows = null;
  const bars = given.palette.bank.map((colour, bank) => {
    const bar = fkNode("i", { style: `background:${colour}` }), count = fkNode("u");
    return { bar, count, node: fkNode("span", {}, bar, count, fkNode("em", {}, bank % 4 ? "" : bank)) };
  });
  element("bars").append(...bars.map(({ node }) => node));

  function write(padding, swizzle) {
    const stride = [1, 1];
    stride[rows.mode] = rows.plain + padding;
    const plain = makeLayout(rows.shape, stride);
    fieldOf("layout").value = text(swizzle ? makeComposed(swizzle, 0, plain) : plain);
    view.changed({ walking: given.steps?.length === 1 });
  }

  function sliders({ op, a, bits }) {
    rows = op ? null : fkRows(a);
    choices = rows ? fkSwizzles(rows, bits) : [null];
    element("pad-field").hidden = !rows;
    element("swizzle-field").hidden = choices.length < 2;
    if (!rows) return;
    const padding = rows.own ? 0 : rows.padding;
    const at = choices.findIndex((s) => rows.own && s && text(s) === text(rows.own));
    const set = (name, value, words) => {
      element(name).value = value;
      element(`${name}-is`).textContent = words;
      element(name).setAttribute("aria-valuetext", words);
    };
    set("pad", padding, padding ? `${elements(padding)} per row` : "none");
    element("swizzle").max = choices.length - 1;
    set("swizzle", Math.max(at, 0), at > 0 ? text(choices[at]) : "none");
  }

  // Up to 32 elements in the column or row of the selected element, and the words that the banks
  // serve.
  function warp(along) {
    const { result, bits } = state.found, table = fkTable(result), begin = fkBegin(state.found);
    const index = keys.get(pointed) ?? 0, here = [index % table.rows, Math.floor(index / table.rows)];
    const down = along === "column", most = down ? table.rows : table.columns;
    const first = here[down ? 0 : 1] - (here[down ? 0 : 1] % 32), offsets = [];
    for (let k = first; k < Math.min(first + 32, most); k++) {
      offsets.push(offsetAt(result, down ? k + here[1] * table.rows : here[0] + k * table.rows) + begin);
    }
    const words = wordsOfBanks(offsets, bits), ways = Math.max(...words);
    return { offsets, words, name: `${along} ${here[down ? 1 : 0]}`, ways,
      verdict: ways === 1 ? "no conflict" : `${ways}-way conflict` };
  }

  function show() {
    const along = element("along").value, read_ = warp(along);
    const other = warp(along === "column" ? "row" : "column");
    const used = elements(read_.words.filter(Boolean).length, "bank");
    element("verdict").textContent = read_.verdict;
    element("why").textContent = `${read_.name}: ${elements(read_.offsets.length, "lane")} need words of `
      + `${used}, served in ${elements(read_.ways, "wavefront")}; ${other.name}: ${other.verdict}`;
    bars.forEach(({ bar, count }, b) => {
      const n = read_.words[b], share = n ? Math.max(n / read_.offsets.length, 0.05) * 80 : 0;
      bar.style.height = `${share}%`;
      bar.style.display = n ? "" : "none";
      count.textContent = n > 1 ? n : "";
      count.style.bottom = `${share}%`;
    });
    element("bars").setAttribute("aria-label",
      `Words that each bank serves, bank 0 to 31: ${read_.words.join(" ")}`);
  }

  function update() {
    const { op, result } = state.found, { rows: many, columns, single } = fkTable(result);
    const numbers = Number.isInteger(offsetAt(result, 0)) && many * columns <= COUNTED;
    const fits = numbers && !single && !op.endsWith("inverse") && op !== "make_layout_tv";
    element("banks").hidden = !(fits && fieldOf("colour").value === "bank");
    keys = null;
    if (element("banks").hidden) return;
    keys = new Map();
    for (let i = 0; i < many * columns; i++) {
      keys.set(text(offsetAt(result, i) + fkBegin(state.found)), i);
    }
    sliders(state.found);
    show();
  }

  element("pad").addEventListener("input", () => write(Number(element("pad").value), null));
  element("swizzle").addEventListener("input",
    () => write(0, choices[Number(element("swizzle").value)]));
  element("along").addEventListener("change", () => { show(); view.remark(); });
  return {
    update,
    point: (key) => { if (keys?.has(key)) { pointed = key; show(); } },
    line: () => (keys ? warp(element("along").value).offsets.map(String) : null),
  };
}
