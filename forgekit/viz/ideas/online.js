// Points to drag; below them the maximum so far as a staircase, the sum as bars, and the tree in
// which parts of the row meet. What a change leaves alone is not computed again.
function fk_online(t, d) {
  const f = Math.fround, exp = (x) => f(Math.exp(x)), n = d.values.length;
  const W = 760, LEFT = 44, TOP = 14, HIGH = 150, BARS = 90, GAP = 20, TREE = 168;
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
  t.slider("add to all", [0, 20, 40, 60, 80, 100], 0, (k) => `${k}`, (k) => {
    for (let i = 0; i < n; i++) x[i] = f(x[i] + k - s.shift);
    s.shift = k;
    compute(0);
  });
  t.button("as at first", () => { x.splice(0, n, ...d.values.map((v) => f(v + s.shift))); compute(0); t.redraw(); });

  const short = (v) => (v === Infinity ? "∞" : v === 0 ? "0" : Math.abs(v) < 0.001 || Math.abs(v) >= 1e5 ? v.toExponential(1) : String(Number(v.toPrecision(3))));
  function naive() {
    let sum = 0;
    for (const v of x) sum = f(sum + exp(v));
    return sum;
  }
  function set(k, value) {
    x[k] = f(value);
    s.at = k;
    compute(k);
    t.redraw();
  }
  // (m, s) of each part, and up the tree: two parts meet at the larger maximum.
  function tree() {
    let level = [];
    for (let k = 0; k < n; k += d.leaf) level.push(x.slice(k, k + d.leaf).reduce(step, before));
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
    const all = `m = ${short(end.m)}, s = ${short(end.s)}. The naive sum of exp(x) is ${short(bad)}`
      + (bad === Infinity ? ": it overflowed." : bad === 0 ? ": every term underflowed." : ".");
    if (s.at === null) { t.facts.textContent = `${all} Drag a point, or choose one with ← and → and move it with ↑ and ↓.`; return; }
    const now = s.steps[s.at];
    t.facts.textContent = `Number ${s.at}: x = ${short(x[s.at])}, m = ${short(now.m)}, s = ${short(now.s)}`
      + (now.factor === 1 ? "; the maximum stayed." : `; the maximum grew, so the sum ${short(now.was)} was multiplied by ${short(now.factor)}.`)
      + ` Computed again: ${s.again} of ${n} steps. ${all}`;
  }
  let held = null; // the axis stays while a point is dragged
  return function draw() {
    const focused = t.box.contains(document.activeElement);
    const low = held?.low ?? Math.min(...x) - 2, high = held?.high ?? Math.max(...x) + 4;
    const px = (k) => LEFT + (k + 0.5) * (W - LEFT - 8) / n, py = (v) => TOP + HIGH - (v - low) / (high - low) * HIGH;
    const base = TOP + HIGH + GAP + BARS, most = Math.max(...s.steps.flatMap((e) => [e.s, e.was]));
    const svg = t.svg(W, base + TREE, "Numbers of a row, the maximum so far, and the sum of exp(x - m)");
    svg.setAttribute("tabindex", 0);
    const wide = (W - LEFT - 8) / n - 2;
    for (const [y, words] of [[TOP + 8, short(high)], [TOP + HIGH, short(low)], [base - BARS + 8, short(most)], [base, "0"]]) {
      svg.append(t.text(LEFT - 6, y, words, { "text-anchor": "end", class: "soft" }));
    }
    svg.append(t.text(0, TOP + HIGH / 2, "x, m"), t.text(0, base - BARS / 2, "s"));
    let stairs = "", named = -99; // where the last factor is written
    s.steps.forEach((e, k) => {
      stairs += `${k ? "H" : "M"}${px(k)}${k ? "V" : " "}${py(e.m)}`;
      const high_ = (v) => v / most * BARS;
      if (e.factor !== 1) {
        svg.append(t.rect(px(k) - wide / 2, base - high_(e.was), wide, high_(e.was), "none", { class: "axis", "data-was": k }));
        const chosen = k === s.at, fits = px(k) - named > 40 && !(s.at !== null && Math.abs(px(k) - px(s.at)) < 40);
        if (e.factor < 0.995 && (chosen || fits)) { named = px(k); svg.append(t.text(px(k), base - high_(e.was) - 3, `×${short(e.factor)}`, { "text-anchor": "middle", "font-weight": chosen ? 700 : 400 })); }
      }
      svg.append(t.rect(px(k) - wide / 2, base - high_(e.s), wide, high_(e.s), "var(--fk-series1)",
        { "data-s": k, class: s.at !== null && k < s.at ? "off" : "" }));
    });
    svg.append(t.line(stairs, { style: "stroke:var(--fk-series4);stroke-width:2", "data-stairs": "" }), t.line(`M${LEFT} ${base}H${W - 8}`));
    x.forEach((v, k) => svg.append(t.rect(px(k) - 9, py(v) - 12, 18, 24, "transparent", { class: "move", "data-hit": k }),
      t.rect(px(k) - 4, py(v) - 4, 8, 8, "var(--fk-series0)", { rx: 4, class: k === s.at ? "move on" : "move", "data-x": k })));
    // The tree, from parts of the row to the whole.
    const levels = tree(), step_ = (TREE - 34) / Math.max(levels.length - 1, 1);
    const tx = (l, k) => LEFT + (k + 0.5) * (W - LEFT - 8) / levels[l].length, ty = (l) => base + 26 + l * step_;
    levels.forEach((level, l) => level.forEach((node, k) => {
      if (l + 1 < levels.length) {
        const [ax, ay, bx, by] = [tx(l, k), ty(l), tx(l + 1, k >> 1), ty(l + 1)];
        svg.append(t.line(`M${ax} ${ay + 5}L${bx} ${by - 13}`));
        svg.append(t.text(ax + (bx - ax) * 0.45, ay + (by - ay) * 0.5, `×${short(node.up)}`, { "text-anchor": "middle",
          class: node.up === 1 ? "soft" : "", "data-factor": `${l} ${k}` }));
      }
      svg.append(t.text(tx(l, k), ty(l), `(${short(node.m)}, ${short(node.s)})`, { "text-anchor": "middle", "data-node": `${l} ${k}` }));
    }));
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return low + (TOP + HIGH - (event.clientY - box.top) * W / box.width) / HIGH * (high - low);
    };
    svg.addEventListener("pointerdown", (event) => {
      const k = event.target.dataset.hit ?? event.target.dataset.x;
      if (k === undefined) return;
      event.preventDefault();
      held = { low, high };
      const move = (e) => set(Number(k), Math.min(Math.max(at(e), low), high));
      const stop = () => { removeEventListener("pointermove", move); held = null; t.redraw(); };
      addEventListener("pointermove", move);
      addEventListener("pointerup", stop, { once: true });
      addEventListener("pointercancel", stop, { once: true });
      set(Number(k), x[k]);
    });
    const pick = (by) => () => { s.at = s.at === null ? 0 : Math.min(Math.max(s.at + by, 0), n - 1); s.again = 0; t.redraw(); };
    const move = (by) => () => set(s.at ?? 0, x[s.at ?? 0] + by);
    fkKeys(svg, { ArrowRight: pick(1), ArrowLeft: pick(-1), ArrowUp: move(0.5), ArrowDown: move(-0.5) });
    t.box.replaceChildren(svg);
    if (focused) svg.focus();
    tell();
  };
}
