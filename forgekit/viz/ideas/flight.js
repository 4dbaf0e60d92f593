// Draws loads in flight as bars over time, and Little's line with the ceiling and the recorded
// points.
function fk_flight(t, d) {
  const GANTT = 128, CHART = 190, SHOWN = 6, SPAN = 2600; // rows of warps; ns
  const s = { loads: 1, bytes: 4, warps: 16, latency: d.latency };
  t.slider("loads in flight per lane", [1, 2, 3, 4, 6, 8], 0, String, (v) => { s.loads = v; });
  t.slider("bytes per load", [2, 4, 8, 16], 1, String, (v) => { s.bytes = v; });
  t.slider("warps per multiprocessor", [1, 2, 4, 8, 16, 24, 32, 48, 64], 4, String, (v) => { s.warps = v; });
  const latencies = [...new Set([300, 400, 500, 600, 700, 800, 1000, 1200, d.latency])].sort((a, b) => a - b);
  t.slider("latency", latencies, latencies.indexOf(d.latency), (v) => `${Math.round(v)} ns`, (v) => { s.latency = v; });
  const most = Math.max(32768, ...Object.values(d.points).map(([held]) => held)) * 1.05;
  return function draw() {
    const held = s.loads * s.bytes * 32 * s.warps, allowed = held * d.many / s.latency;
    const speed = Math.min(allowed, d.ceiling), turn = held * d.many / speed, full = allowed > d.ceiling;
    const W = t.width(), LEFT = W < 600 ? 8 : 52, RIGHT = W - 10, wide = RIGHT - LEFT, top = GANTT + 12, base = top + CHART;
    const svg = t.svg(base + 40, "Loads in flight over time, and the speed that they allow");
    const word = (x, y, words, more) => svg.append(t.text(x, y, words, { class: "soft halo", ...more }));
    const x = (ns) => LEFT + ns / SPAN * wide, rows = Math.min(s.warps, SHOWN), high = (GANTT - 44) / rows;
    for (let w = 0; w < rows; w++) for (let begin = 0; begin < SPAN; begin += turn) for (let k = 0; k < s.loads; k++) {
      svg.append(t.rect(x(begin) + 1, 16 + w * high + k * (high - 4) / s.loads, Math.min(x(begin + turn), RIGHT) - x(begin) - 2,
        (high - 4) / s.loads - 1, "var(--fk-series0)", { "data-load": `${w} ${k}`, rx: 2 }));
    }
    word(LEFT, 10, `${rows < s.warps ? `${rows} of ${s.warps}` : s.warps} warp${s.warps > 1 ? "s" : ""}: each bar is a load in flight`);
    svg.append(t.line(`M${LEFT} ${GANTT - 24}H${RIGHT}`));
    for (let ns = 0; ns < SPAN; ns += W < 600 ? 1000 : 500) word(x(ns), GANTT - 10, `${t.many(ns)} ns`, { "text-anchor": ns ? "middle" : "start" });
    const px = (b) => LEFT + Math.min(b / most, 1) * wide, py = (g) => base - g / (d.ceiling * 1.12) * CHART;
    const knee = d.ceiling * s.latency / d.many;
    svg.append(t.line(`M${LEFT} ${top}V${base}H${RIGHT}`),
      t.line(`M${px(0)} ${py(0)}L${px(knee)} ${py(Math.min(d.ceiling, most * d.many / s.latency))}H${RIGHT}`, { style: "stroke:var(--fk-ink);stroke-width:2", "data-little": Math.round(knee) }));
    word(LEFT + 4, py(d.ceiling) - 6, `ceiling, a copy: ${t.many(d.ceiling)} GB/s`);
    word(RIGHT, base + 34, "bytes in flight per multiprocessor", { "text-anchor": "end" });
    for (let b = 0; b < most; b += W < 600 ? 16384 : 8192) word(px(b), base + 16, b ? `${b / 1024} kB` : "0", { "text-anchor": b ? "middle" : "start" });
    Object.entries(d.points).forEach(([name, [b, g]], k) => {
      const left = px(b) > LEFT + wide * 0.55; // its name stays on the page, off its neighbour's
      svg.append(t.rect(px(b) - 4, py(g) - 4, 8, 8, `var(--fk-series${k % 7})`, { transform: `rotate(${45 * (k % 2)} ${px(b)} ${py(g)})`, "data-point": name }));
      word(px(b) + (left ? -8 : 8), py(g) + (k % 2 ? 16 : 5), name, { "text-anchor": left ? "end" : "start", class: "halo" });
    });
    svg.append(t.rect(px(held) - 6, py(speed) - 6, 12, 12, "none", { style: "fill:none;stroke:var(--fk-focus);stroke-width:3", rx: 6, "data-here": "" }));
    t.show(svg);
    t.facts.textContent = `${t.many(held)} bytes in flight per multiprocessor: ${t.many(speed)} GB/s, the ring. `
      + (full ? `Memory is the limit: each round of loads takes ${t.many(turn)} ns, longer than the latency.`
        : `The latency is the limit: ${t.many(knee)} bytes would reach the ceiling.`);
  };
}
