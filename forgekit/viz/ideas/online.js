// Draws points to drag, with the maximum so far as a staircase; below them the sum as bars, the
// positions of both sums in the range of float32, and the tree that combines parts of the row.
// Steps that a change does not affect are not computed again.
function fk_online(t, d) {
  const f = Math.fround, exp = (x) => f(Math.exp(x)), n = d.values.length;
  const TOP = 18, HIGH = 150, GAP = 24, BARS = 90, RANGE = 46, TREE = 150;
  const x = d.values.map(f), before = { m: -Infinity, s: 0, factor: 1, was: 0 };
  const s = { at: null, steps: [], again: n, shift: 0 };
  const step = ({ m, s: sum }, value) => {
    const larger = Math.max(m, value), factor = m === -Infinity ? 0 : exp(f(m - larger));
    return { m: larger, factor: m === -Infinity ? 1 : factor, was: sum, s: f(f(sum * factor) + exp(f(value - larger))) };
  };
  function compute(from) {
    for (let k = from; k < n; k++) s.steps[k] = step(k ? s.steps[k - 1] : before, x[k]);
    s.again = n - from;
  }
  compute(0);
  t.slider("add to all", [-120, -80, -40, 0, 20, 40, 60, 80, 100], 3, String, (k) => {
    for (let i = 0; i < n; i++) x[i] = f(x[i] + k - s.shift);
    s.shift = k;
    compute(0);
  });
  t.button("back to the data", () => { x.splice(0, n, ...d.values.map((v) => f(v + s.shift))); compute(0); t.redraw(); });

  const short = (v) => (v === Infinity ? "∞" : v === 0 ? "0" : Math.abs(v) < 0.001 || Math.abs(v) >= 1e5 ? v.toExponential(1) : String(Number(v.toPrecision(3))));
  const naive = () => x.reduce((sum, v) => f(sum + exp(v)), 0);
  function set(k, value) {
    x[k] = f(value);
    s.at = k;
    compute(k);
    t.redraw();
  }
  // (m, s) of each part, and of each node of the tree, which combines two parts at their larger
  // maximum.
  function tree(leaf) {
    let level = [];
    for (let k = 0; k < n; k += leaf) level.push(x.slice(k, k + leaf).reduce(step, before));
    const levels = [level];
    while (level.length > 1) {
      const next = [];
      for (let k = 0; k < level.length; k += 2) {
        const [a, b] = [level[k], level[k + 1]];
        if (!b) { a.up = 1; next.push({ ...a }); continue; }
        const m = Math.max(a.m, b.m);
        for (const part of [a, b]) part.up = exp(f(part.m - m));
        next.push({ m, s: f(f(a.s * a.up) + f(b.s * b.up)) });
      }
      levels.push(level = next);
    }
    return levels;
  }
  function tell() {
    const end = s.steps[n - 1], bad = naive();
    const all = `In the end m = ${short(end.m)}, s = ${short(end.s)}. The naive sum of exp(x) is ${short(bad)}`
      + (bad === Infinity ? ": it overflowed." : bad === 0 ? ": every term underflowed." : ".");
    if (s.at === null) { t.facts.textContent = `${all} Drag a point, or choose one with ← and → and move it with ↑ and ↓.`; return; }
    const now = s.steps[s.at];
    t.facts.textContent = `Number ${s.at}: x = ${short(x[s.at])}, m = ${short(now.m)}, s = ${short(now.s)}`
      + (now.factor === 1 ? "; the maximum stayed." : `; the maximum grew, so the sum ${short(now.was)} was multiplied by ${short(now.factor)}.`)
      + ` Computed again: ${s.again} of ${n} steps. ${all}`;
  }
  let held = null; // the axis stays while a point is dragged
  return function draw() {
    const low = held?.low ?? Math.min(...x) - 2, high = held?.high ?? Math.max(...x) + 4;
    const W = t.width(), LEFT = 44, room = W - LEFT - 8, wide = room / n - Math.min(2, room / n / 4);
    const px = (k) => LEFT + (k + 0.5) * room / n, py = (v) => TOP + HIGH - (v - low) / (high - low) * HIGH;
    const base = TOP + HIGH + GAP + BARS, most = Math.max(...s.steps.flatMap((e) => [e.s, e.was]));
    const svg = t.svg(base + RANGE + TREE, "Numbers of a row, the maximum so far, the sum of exp(x - m), and the tree of parts");
    const word = (x_, y, words, more) => svg.append(t.text(x_, y, words, more));
    for (const [y, words] of [[TOP + 8, short(high)], [TOP + HIGH, short(low)], [base - BARS + 8, short(most)], [base, "0"]]) {
      word(LEFT - 6, y, words, { "text-anchor": "end", class: "soft" });
    }
    const key = (x_, y, high_, series, words) => { svg.append(t.rect(x_, y - 4 - high_ / 2, 8, high_, `var(--fk-series${series})`, { rx: series ? 0 : 4 })); word(x_ + 12, y, words); };
    key(LEFT, 12, 8, 0, "x");
    key(LEFT + 34, 12, 2, 4, "m, the maximum so far");
    key(LEFT, base - BARS - 12, 10, 1, "s, the sum of exp(x - m)");
    let stairs = "", named = -99; // where the last factor is written
    const factors = []; // above all bars
    s.steps.forEach((e, k) => {
      stairs += `${k ? "H" : "M"}${px(k)}${k ? "V" : " "}${py(e.m)}`;
      const tall = (v) => v / most * BARS;
      svg.append(t.rect(px(k) - wide / 2, base - tall(e.s), wide, tall(e.s), "var(--fk-series1)",
        { "data-s": k, class: s.at !== null && k < s.at ? "off" : "" }));
      if (e.factor === 1) return;
      svg.append(t.rect(px(k) - wide / 2, base - tall(e.was), wide, tall(e.was), "none", { class: "axis", "data-was": k }));
      const chosen = k === s.at, fits = px(k) - named > 40 && !(s.at !== null && Math.abs(px(k) - px(s.at)) < 40);
      if (e.factor >= 0.995 || !(chosen || fits)) return;
      named = px(k);
      factors.push(t.text(named, base - tall(e.was) - 3, `×${short(e.factor)}`, { "text-anchor": "middle", "font-weight": chosen ? 700 : 400, class: "halo" }));
    });
    svg.append(...factors);
    svg.append(t.line(stairs, { style: "stroke:var(--fk-series4);stroke-width:2", "data-stairs": "" }), t.line(`M${LEFT} ${base}H${W - 8}`));
    x.forEach((v, k) => svg.append(t.rect(px(k) - 4, py(v) - 4, 8, 8, "var(--fk-series0)", { rx: 4, class: k === s.at ? "on" : "", "data-x": k })));
    x.forEach((v, k) => svg.append(t.rect(px(k) - room / n / 2, py(v) - 22, room / n, 44, "transparent", { class: "move", "data-hit": k })));
    // The range of float32, from its smallest to its largest number. A naive sum leaves this range; s
    // does not.
    const line = base + 26, bad = naive(), lx = (v) => LEFT + (Math.log10(Math.min(Math.max(v, 1e-45), 4e38)) + 45) / 83.6 * room;
    svg.append(t.line(`M${LEFT} ${line}H${W - 8}`));
    word(LEFT, line + 15, "float32: 1e-45", { class: "soft" });
    word(W - 8, line + 15, "3e38", { class: "soft", "text-anchor": "end" });
    const lost = bad === Infinity || bad === 0, at_ = lx(bad);
    svg.append(t.rect(lx(s.steps[n - 1].s) - 3, line - 8, 6, 16, "var(--fk-series1)"),
      t.rect(at_ - 4, line - 4, 8, 8, lost ? "var(--fk-wrong)" : "var(--fk-ink)", { transform: `rotate(45 ${at_} ${line})`, "data-naive": short(bad) }));
    word(Math.min(Math.max(at_, LEFT + 60), W - 68), line - 10, `naive: ${short(bad)}${bad === Infinity ? ", overflow" : bad === 0 ? ", underflow" : ""}`, { "text-anchor": "middle", class: "halo" });
    // The tree, from parts of the row to the whole row.
    const levels = tree(Math.max(d.leaf, Math.ceil(n / Math.floor(room / 76))));
    const root = line + 38, deep = (TREE - 30) / Math.max(levels.length - 1, 1);
    const tx = (l, k) => LEFT + (k + 0.5) * room / levels[l].length, ty = (l) => root + l * deep;
    levels.forEach((level, l) => level.forEach((node, k) => {
      if (l + 1 < levels.length) {
        const [ax, ay, bx, by] = [tx(l, k), ty(l), tx(l + 1, k >> 1), ty(l + 1)];
        svg.append(t.line(`M${ax} ${ay + 5}L${bx} ${by - 13}`));
        word(ax + (bx - ax) * 0.45, ay + (by - ay) * 0.5, `×${short(node.up)}`, { "text-anchor": "middle",
          class: node.up === 1 ? "soft halo" : "halo", "data-factor": `${l} ${k}` });
      }
      word(tx(l, k), ty(l), `(${short(node.m)}, ${short(node.s)})`, { "text-anchor": "middle", "data-node": `${l} ${k}` });
    }));
    // Chromium ignores touch-action inside an SVG. A finger on a point drags the point; any other
    // finger scrolls.
    svg.addEventListener("touchstart", (event) => { if (event.target.dataset.hit) event.preventDefault(); }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      const k = Number(event.target.dataset.hit ?? -1), { top, width } = svg.getBoundingClientRect();
      if (k < 0) return; // a finger that scrolls
      event.preventDefault();
      held = { low, high };
      const from = x[k] - low - (TOP + HIGH - (event.clientY - top) * W / width) / HIGH * (high - low);
      const value = (e) => low + from + (TOP + HIGH - (e.clientY - t.box.getBoundingClientRect().top) * W / width) / HIGH * (high - low);
      const move = (e) => set(k, Math.min(Math.max(value(e), low), high));
      const stop = () => { t.box.removeEventListener("pointermove", move); held = null; t.redraw(); };
      t.box.setPointerCapture(event.pointerId);
      t.box.addEventListener("pointermove", move);
      t.box.addEventListener("lostpointercapture", stop, { once: true });
      set(k, x[k]);
    });
    const pick = (by) => () => { s.at = s.at === null ? 0 : Math.min(Math.max(s.at + by, 0), n - 1); s.again = 0; t.redraw(); };
    const move = (by) => () => set(s.at ?? 0, x[s.at ?? 0] + by);
    t.show(svg, { ArrowRight: pick(1), ArrowLeft: pick(-1), ArrowUp: move(0.5), ArrowDown: move(-0.5) });
    tell();
  };
}
