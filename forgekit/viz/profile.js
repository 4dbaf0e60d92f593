// The interactive profile: a click on a line of the table draws the line's warp accesses below the
// table.
const FK_LEFT = 104, FK_ROW = 17;

// Returns the rows of a coalescing picture: 128-byte lines of memory, with the requested bytes and
// their lanes.
function fkLines(access) {
  const lines = new Map();
  access.at.forEach((at, lane) => {
    if (at < 0) return;
    const number = Math.floor(at / 128);
    if (!lines.has(number)) lines.set(number, new Map());
    const cells = lines.get(number);
    cells.set(at % 128, [...(cells.get(at % 128) || []), lane]);
  });
  return [...lines].sort((a, b) => a[0] - b[0]).map(([number, cells]) => ({ number,
    cells: [...cells].sort((a, b) => a[0] - b[0]).map(([at, lanes]) => ({ at, lanes })) }));
}

// Returns the rows of a bank picture: wavefronts, with the banks and the lanes that share each
// word.
function fkWavefronts(access) {
  const rows = [];
  for (const [from, to] of access.passes) {
    const words = new Map(), banks = new Map();
    for (let lane = from; lane < to; lane++) {
      if (access.at[lane] < 0) continue;
      const first = Math.floor(access.at[lane] / 4);
      for (let word = first; word < first + Math.max(access.width >> 2, 1); word++) {
        if (!words.has(word)) words.set(word, []);
        if (access.share && words.get(word).length) words.get(word)[0].push(lane);
        else words.get(word).push([lane]);
      }
    }
    for (const word of [...words.keys()].sort((a, b) => a - b)) {
      if (!banks.has(word % 32)) banks.set(word % 32, []);
      banks.get(word % 32).push(...words.get(word));
    }
    const most = Math.max(...[...banks.values()].map((served) => served.length));
    for (let k = 0; k < most; k++) {
      rows.push({ number: rows.length + 1, cells: [...banks].filter(([, served]) => served[k])
        .sort((a, b) => a[0] - b[0]).map(([at, served]) => ({ at, lanes: served[k] })) });
    }
  }
  return rows;
}

const fkNames = (lanes) => (lanes.length > 1 ? `×${lanes.length}` : `${lanes[0]}`);

function fkProfile(root, d) {
  const el = fkNode, s = { site: null, warp: 0, time: 0, lane: null };
  const title = el("p"), said = el("p", { class: "soft" });
  const facts = el("p", { class: "facts", role: "status", "aria-live": "polite" });
  const box = el("div", { style: "overflow-x:auto" });
  const slider = (name, set) => {
    const output = el("output"), input = el("input", { type: "range", min: 0, step: 1,
      oninput: () => { set(Number(input.value)); s.lane = null; draw(); } });
    return { input, output, node: el("label", {}, name, input, output) };
  };
  const warp = slider("warp", (k) => { s.warp = k; s.time = 0; });
  const time = slider("access", (k) => { s.time = k; });
  const view = el("section", { class: "fk-accesses", "aria-label": "Accesses of the line", hidden: true },
    title, said, warp.node, time.node, box, facts, el("p", { class: "soft" }, d.note));
  const table = root.querySelector("table"), body = table.tBodies[0];
  const buttons = [];
  fkScroll(root.querySelector(".fk-table"));
  fkScroll(box);

  const here = () => d.sites[s.site].warps[s.warp];
  const access = () => here().accesses[s.time];

  function choose(site) {
    Object.assign(s, { site, warp: 0, time: 0, lane: null });
    view.hidden = false;
    buttons.forEach(({ button, row }, k) => {
      button.setAttribute("aria-pressed", k === site);
      row.classList.toggle("fk-on", k === site);
    });
    draw();
  }

  function draw() {
    const site = d.sites[s.site], a = access(), shared = site.memory === "shared";
    for (const [slide, count, at, text] of [
      [warp, site.warps.length, s.warp, `warp ${here().warp} of block 0`],
      [time, here().accesses.length, s.time, `${s.time + 1} of ${a.times}`]]) {
      slide.input.max = count - 1;
      slide.input.value = at;
      slide.input.disabled = count < 2;
      slide.input.setAttribute("aria-valuetext", text);
      slide.output.textContent = text;
    }
    title.textContent = "";
    title.append(el("b", {}, d.texts[a.cost]));
    said.textContent = d.texts[a.said];
    box.replaceChildren(picture(a, shared));
    tell();
  }

  function picture(a, shared) {
    const rows = shared ? fkWavefronts(a) : fkLines(a), units = shared ? 32 : 128;
    const unit = shared ? 20 : 4.6, width = FK_LEFT + units * unit + 24, height = 20 + rows.length * FK_ROW;
    const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img",
      "aria-label": `${d.texts[a.cost]}; ${d.texts[a.said]}. Arrow keys move from lane to lane and from row to row.` });
    const text = (x, y, words, anchor) => el("text", { x, y, "text-anchor": anchor }, `${words}`);
    const wide = shared ? Math.max(a.width >> 2, 1) : a.width;
    const x = (at) => FK_LEFT + at * unit + (shared ? 0 : Math.floor(at / 32) * 4);
    svg.append(text(FK_LEFT - 8, 12, shared ? "bank" : "first element", "end"));
    for (let k = 0; k < units; k += shared ? 1 : 32) {
      const across = shared ? unit : 32 * unit;
      svg.append(text(x(k) + across / 2, 12, shared ? k : `bytes ${k}–${k + 31}`, "middle"));
    }
    rows.forEach((row, r) => {
      const y = 20 + r * FK_ROW;
      svg.append(text(FK_LEFT - 8, y + 12, shared ? `wavefront ${row.number}` : element(a, row.cells[0].lanes[0]), "end"));
      if (shared) svg.append(el("rect", { class: "empty", x: FK_LEFT, y: y + 1, width: 32 * unit, height: FK_ROW - 3 }));
      else for (let k = 0; k < 4; k++) {
        const used = row.cells.filter((c) => c.at >> 5 === k).length * wide;
        const wasted = used && used < 32;
        svg.append(el("rect", { class: wasted ? "waste" : "empty", "data-used": wasted && used,
          x: x(32 * k), y: y + 1, width: 32 * unit, height: FK_ROW - 3 }));
      }
      const seen = new Set();
      row.cells.forEach((c) => {
        if (seen.has(c.lanes[0])) return; // another word of a wide access
        if (shared) seen.add(c.lanes[0]);
        const across = wide * unit, names = fkNames(c.lanes);
        const g = el("g", { class: "cell", "data-lanes": c.lanes.join(" ") }, el("rect", { x: x(c.at), y,
          width: across - 1, height: FK_ROW - 1.5, fill: d.colours[c.lanes[0]] }));
        if (names.length * 5.6 < across) g.append(text(x(c.at) + across / 2, y + 11.5, names, "middle"));
        svg.append(g);
      });
    });
    const beyond = (down) => { // the nearest lane of the next or the previous row
      const row = rows.findIndex((r) => r.cells.some((c) => c.lanes.includes(s.lane)));
      const at = rows[row]?.cells.find((c) => c.lanes.includes(s.lane)).at ?? 0;
      const next = rows[row < 0 ? 0 : row + down];
      if (!next) return s.lane;
      const far = (cell) => Math.abs(cell.at - at);
      return next.cells.reduce((a, b) => (far(b) < far(a) ? b : a)).lanes[0];
    };
    let pointer = "";
    const look = (event) => {
      const at = `${event.screenX} ${event.screenY}`;
      if (event.type === "pointerover" && at === pointer) return; // the page moved, not the pointer
      pointer = at;
      const cell = event.target.closest?.("[data-lanes]"), { used } = event.target.dataset;
      if (cell) { s.lane = Number(cell.dataset.lanes.split(" ")[0]); tell(); }
      else if (used) facts.textContent = `The warp requests ${used} bytes of this 32-byte sector; `
        + `the other ${32 - used}, in orange, are moved but not used.`;
    };
    svg.addEventListener("pointerover", look);
    svg.addEventListener("click", look);
    svg.addEventListener("keydown", (event) => {
      const on = a.at.flatMap((at, lane) => (at < 0 ? [] : [lane])), k = on.indexOf(s.lane);
      const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: on.length - 1 }[event.key];
      const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (to === undefined && !down) return;
      s.lane = down ? beyond(down) : on[Math.min(Math.max(to, 0), on.length - 1)];
      tell();
      event.preventDefault();
      event.stopPropagation(); // keeps JupyterLab's shortcuts off
    });
    return svg;
  }

  function element(a, lane) {
    if (!a.elements) return `offset ${a.at[lane]}`;
    const [name, modes] = a.elements;
    return name ? `${name}[${modes.map((mode) => mode[lane]).join(", ")}]` : modes[lane];
  }

  // Describes a lane's access: the thread, the element and the address.
  function tell() {
    const a = access(), lane = s.lane, shared = d.sites[s.site].memory === "shared";
    box.querySelectorAll(".cell").forEach((cell) => cell.classList.toggle("on",
      lane !== null && cell.dataset.lanes.split(" ").includes(String(lane))));
    if (lane === null) {
      facts.textContent = "Point at a cell, or use the arrow keys, to see its lane, thread, element and address.";
      return;
    }
    const [bx, by] = d.sites[s.site].block, t = here().warp * 32 + lane, at = a.at[lane];
    const thread = `(${t % bx}, ${Math.floor(t / bx) % by}, ${Math.floor(t / (bx * by))})`;
    const last = at + a.width - 1, range = (n) => (a.width > 1 ? `${n}–${n + a.width - 1}` : n);
    const where = shared ? `bytes ${at}–${last} of shared memory, bank ${Math.floor(at / 4) % 32}`
      + (a.width > 4 ? `–${Math.floor(last / 4) % 32}` : "")
      : `address 0x${(a.base + at).toString(16)}: bytes ${range(at % 128)} of a 128-byte line, sector ${(at % 128) >> 5} of 4`;
    facts.textContent = `lane ${lane} · thread ${thread} of block 0 · `
      + `${shared ? "" : `${element(a, lane)} · `}${where}`;
  }

  for (const [index, site] of Object.entries(d.rows)) {
    const row = body.rows[index];
    const button = el("button", { type: "button", "aria-pressed": "false",
      title: "show the accesses of its warps" }, row.cells[4].textContent);
    row.cells[4].replaceChildren(button);
    row.classList.add("fk-has");
    row.addEventListener("click", () => choose(site));
    button.addEventListener("keydown", (event) => {
      const to = site + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || 0);
      if (to === site || !buttons[to]) return;
      buttons[to].button.focus();
      event.preventDefault();
      event.stopPropagation();
    });
    buttons[site] = { button, row };
  }
  root.querySelector(".fk-words").remove();
  table.closest(".fk-table").after(view);
}
