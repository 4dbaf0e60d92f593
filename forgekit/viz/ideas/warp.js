// Draws lanes in columns and shuffles in rows, or the transposed picture on a narrow page. Pointing
// at a lane highlights the lanes whose numbers its sum contains.
function fk_warp(t, d) {
  const names = Object.keys(d.sources), s = { way: 0, order: 0, step: 1, lane: null, at: 1 };
  const offsets = (steps) => steps.map((from) => Math.max(...from.map((source, lane) => Math.abs(source - lane))));
  // For each method and order, after each step: the number of times that each lane's sum contains
  // each lane's number.
  const ways = names.map((name) => [d.sources[name], [...d.sources[name]].reverse()].map((sources) => {
    const held = [Array.from({ length: d.lanes }, (_, lane) => Array.from({ length: d.lanes }, (_, k) => Number(k === lane)))];
    for (const from of sources) {
      const last = held.at(-1);
      held.push(from.map((source, lane) => last[lane].map((count, k) => count + last[source][k])));
    }
    return { sources, held, by: offsets(sources) };
  }));
  const now = () => ways[s.way][s.order], last = () => now().held.length - 1;
  const limit = () => { s.step = Math.min(s.step, last()); s.at = Math.min(s.at, last()); };
  t.choice("shuffle", names, (k) => { s.way = k; limit(); });
  t.choice("order of the offsets", [0, 1].map((k) => ways[0][k].by.join(" ")), (k) => { s.order = k; });
  const most = Math.max(...ways.map(([way]) => way.held.length - 1));
  const slider = t.slider("shuffles", [...Array(most + 1).keys()], 1, (k) => `${k} of ${most}`, (k) => { s.step = s.at = Math.min(k, last()); });
  const different = (of) => of.filter(Boolean).length, twice = (of) => of.some((count) => count > 1);

  function tell() {
    const { held, sources, by } = now();
    if (s.lane === null) {
      const of = held[s.step], full = of.filter((each) => different(each) === d.lanes && !twice(each)).length;
      t.facts.textContent = `${names[s.way]}, after ${s.step} of ${last()} shuffles: ${full} of ${d.lanes} lanes have the sum of all numbers; `
        + `${of.filter(twice).length} added some number twice or more. Point at a cell, or move with the arrow keys.`;
      return;
    }
    const of = held[s.at][s.lane], source = s.at ? sources[s.at - 1][s.lane] : null;
    const lanes = of.flatMap((count, k) => (count ? [count > 1 ? `${k} (${count} times)` : `${k}`] : []));
    t.facts.textContent = `Lane ${s.lane} after ${s.at} shuffles holds the ${lanes.length === 1 ? "number of lane" : `numbers of ${lanes.length} lanes:`} ${lanes.join(", ")}.`
      + (source === null ? "" : source === s.lane ? ` Shuffle ${s.at}, by ${by[s.at - 1]}, gave it its own value.` : ` Shuffle ${s.at}, by ${by[s.at - 1]}, gave it the value of lane ${source}.`);
  }
  return function draw() {
    const { held, sources, by } = now(), W = t.width(), upright = W < 600, lines = [], cells = [];
    const [along, across] = upright ? [20, (W - 22) / (last() + 1)] : [(W - 60) / d.lanes, 46];
    const wide = upright ? Math.min(across - 18, 40) : along - 2, high = upright ? 18 : 21;
    const place = (lane, row) => (upright ? [22 + row * across, 20 + lane * along] : [56 + lane * along, 20 + row * across]);
    const named = (lane, row) => (upright ? { "text-anchor": row === null ? "end" : "start" } : { "text-anchor": row === null ? "middle" : "end" });
    // The lanes of each row whose sums are part of the selected lane's sum.
    const lit = s.lane === null ? null : held.map(() => new Set());
    lit?.[s.at].add(s.lane);
    for (let row = s.at; lit && row > 0; row--) for (const lane of lit[row]) lit[row - 1].add(lane).add(sources[row - 1][lane]);
    for (let lane = 0; lane < d.lanes; lane += 4) {
      const [x, y] = place(lane, 0);
      cells.push(t.text(upright ? x - 5 : x + wide / 2, upright ? y + 13 : 12, lane, { ...named(lane, null), class: "soft" }));
    }
    for (let row = 0; row <= s.step; row++) {
      const [left, top] = place(0, row);
      cells.push(t.text(upright ? left : left - 6, upright ? 12 : top + 15, row ? `by ${by[row - 1]}` : "start", { ...named(0, row), class: "soft" }));
      held[row].forEach((of, lane) => {
        const [x, y] = place(lane, row), many = different(of), doubled = twice(of), on = lit?.[row].has(lane);
        const hue = Math.round(31 * Math.log2(many) / Math.log2(Math.max(d.lanes, 2)));
        cells.push(t.el("g", { "data-lane": lane, "data-row": row, class: lit && !on ? "off" : "" },
          t.rect(x, y, wide, high, doubled ? "var(--fk-wrong)" : `var(--fk-lane${hue})`, { class: on ? "cell on" : "cell", rx: doubled ? 10 : 2 }),
          t.text(x + wide / 2, y + high - 5, doubled ? "×" : many, { "text-anchor": "middle", class: "dark" })));
        const source = row ? sources[row - 1][lane] : lane;
        if (source === lane || !(lit ? on : row === s.step)) return;
        const [fx, fy] = place(source, row - 1);
        lines.push(t.line(upright ? `M${fx + wide} ${fy + high / 2}L${x} ${y + high / 2}` : `M${fx + wide / 2} ${fy + high}L${x + wide / 2} ${y}`));
      });
    }
    const height = upright ? 24 + d.lanes * along : 24 + last() * across + high;
    const svg = t.svg(height, `${names[s.way]}: which lanes' numbers each lane holds`, ...lines, ...cells);
    const look = (event) => {
      const g = event.target.closest?.("[data-lane]");
      if (!g) return;
      const [lane, row] = [Number(g.dataset.lane), Number(g.dataset.row)];
      if (lane === s.lane && row === s.at) return;
      Object.assign(s, { lane, at: row });
      draw();
    };
    const leave = () => { s.lane = null; draw(); };
    svg.addEventListener("pointermove", look);
    svg.addEventListener("click", look);
    svg.addEventListener("pointerleave", (event) => { if (s.lane !== null && event.pointerType === "mouse" && !t.box.contains(document.activeElement)) leave(); });
    const go = (lane, row) => () => {
      s.lane = Math.min(Math.max((s.lane ?? -lane) + lane, 0), d.lanes - 1);
      s.at = Math.min(Math.max(s.at + row, 0), last());
      if (s.at > s.step) slider.to(s.at);
      else draw();
    };
    const keys = upright ? ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"] : ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"];
    t.show(svg, { [keys[0]]: go(1, 0), [keys[1]]: go(-1, 0), [keys[2]]: go(0, 1), [keys[3]]: go(0, -1), Escape: leave });
    tell();
  };
}
