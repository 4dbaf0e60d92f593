// Lanes in columns, shuffles in rows; a lane that is pointed at lights the lanes it has added up.
function fk_warp(t, d) {
  const names = Object.keys(d.sources), CELL = 23, LEFT = 62, ROW = 46;
  const s = { way: 0, step: 0, lane: null, at: 0 };
  const held = names.map((name) => {
    const steps = [Array.from({ length: d.lanes }, (_, lane) => {
      const own = new Array(d.lanes).fill(0);
      own[lane] = 1;
      return own;
    })];
    for (const from of d.sources[name]) {
      const last = steps.at(-1);
      steps.push(from.map((source, lane) => last[lane].map((count, k) => count + last[source][k])));
    }
    return steps;
  });
  const last = () => held[s.way].length - 1;
  if (names.length > 1) t.choice(names, (k) => { s.way = k; s.at = Math.min(s.at, last()); s.step = Math.min(s.step, last()); });
  const steps = Math.max(...held.map((h) => h.length));
  const slider = t.slider("shuffles", [...Array(steps).keys()], 0, (k) => `${k} of ${steps - 1}`,
    (k) => { s.step = Math.min(k, last()); s.at = s.step; });
  const different = (of) => of.filter(Boolean).length, twice = (of) => of.some((count) => count > 1);

  function tell() {
    if (s.lane === null) {
      const now = held[s.way][s.step], full = now.filter((of) => different(of) === d.lanes && !twice(of)).length;
      t.facts.textContent = `${names[s.way]}, after ${s.step} shuffles: ${full} of ${d.lanes} lanes hold all numbers once, `
        + `${now.filter(twice).length} hold some number more than once. Point at a cell, or move with the arrow keys.`;
      return;
    }
    const of = held[s.way][s.at][s.lane], source = s.at ? d.sources[names[s.way]][s.at - 1][s.lane] : null;
    const lanes = of.flatMap((count, k) => (count ? [count > 1 ? `${k} (${count} times)` : `${k}`] : []));
    t.facts.textContent = `Lane ${s.lane} after ${s.at} shuffles holds the numbers of ${different(of)} lanes: ${lanes.join(", ")}.`
      + (source === null ? "" : source === s.lane ? " It received its own value." : ` It received the value of lane ${source}.`);
  }
  return function draw() {
    const rows = held[s.way], focused = t.box.contains(document.activeElement);
    const svg = t.svg(LEFT + d.lanes * CELL + 6, 22 + (last() + 1) * ROW, `${names[s.way]}: which lanes' numbers each lane holds`);
    svg.classList.add("wide");
    svg.setAttribute("tabindex", 0);
    const x = (lane) => LEFT + lane * CELL, y = (row) => 20 + row * ROW;
    const from = (row, lane) => d.sources[names[s.way]][row - 1][lane];
    // The lanes of each row whose sums went into the one that is pointed at.
    const lit = s.lane === null ? null : rows.map(() => new Set());
    lit?.[s.at].add(s.lane);
    for (let row = s.at; lit && row > 0; row--) for (const lane of lit[row]) lit[row - 1].add(lane).add(from(row, lane));
    for (let lane = 0; lane < d.lanes; lane += 4) svg.append(t.text(x(lane) + CELL / 2, 12, lane, { "text-anchor": "middle", class: "soft" }));
    for (let row = 0; row <= s.step; row++) {
      svg.append(t.text(LEFT - 8, y(row) + 15, row ? `shuffle ${row}` : "start", { "text-anchor": "end", class: "soft" }));
      rows[row].forEach((of, lane) => {
        const doubled = twice(of), many = different(of);
        const on = lit?.[row].has(lane);
        const g = t.el("g", { "data-lane": lane, "data-row": row, class: lit && !on ? "off" : "" },
          t.rect(x(lane), y(row), CELL - 2, 21, doubled ? "var(--fk-wrong)" : `var(--fk-lane${many - 1})`,
            { class: on ? "cell on" : "cell", rx: doubled ? 10 : 2 }),
          t.text(x(lane) + CELL / 2 - 1, y(row) + 14.5, doubled ? "×" : many, { "text-anchor": "middle", class: "dark" }));
        svg.append(g);
        if (!row) return;
        const source = from(row, lane);
        if (source !== lane && (lit ? on : row === s.step)) {
          svg.prepend(t.line(`M${x(source) + CELL / 2 - 1} ${y(row - 1) + 21}L${x(lane) + CELL / 2 - 1} ${y(row)}`));
        }
      });
    }
    const look = (event) => {
      const g = event.target.closest?.("[data-lane]");
      if (!g) return;
      const [lane, row] = [Number(g.dataset.lane), Number(g.dataset.row)];
      if (lane === s.lane && row === s.at) return;
      Object.assign(s, { lane, at: row });
      draw();
    };
    svg.addEventListener("pointermove", look);
    svg.addEventListener("click", look);
    svg.addEventListener("pointerleave", () => { if (s.lane !== null && !t.box.contains(document.activeElement)) { s.lane = null; draw(); } });
    const go = (lane, row) => () => {
      Object.assign(s, { lane: Math.min(Math.max((s.lane ?? 0) + lane, 0), d.lanes - 1) });
      const to = Math.min(Math.max(s.at + row, 0), last());
      s.at = to;
      if (to > s.step) slider.to(to);
      else draw();
    };
    fkKeys(svg, { ArrowRight: go(1, 0), ArrowLeft: go(-1, 0), ArrowDown: go(0, 1), ArrowUp: go(0, -1),
      Escape: () => { s.lane = null; draw(); } });
    t.box.replaceChildren(svg);
    if (focused) svg.focus();
    tell();
  };
}
