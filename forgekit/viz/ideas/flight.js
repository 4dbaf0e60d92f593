// Loads in flight as bars over time, and Little's line with its ceiling and the recorded points.
function fk_flight(t, d) {
  const W = 760, LEFT = 52, GANTT = 128, CHART = 190, SHOWN = 6;
  const s = { loads: 1, bytes: 4, warps: 16, latency: d.latency };
  t.slider("loads in flight per lane", [1, 2, 3, 4, 6, 8], 0, (v) => `${v}`, (v) => { s.loads = v; });
  t.slider("bytes per load", [2, 4, 8, 16], 1, (v) => `${v}`, (v) => { s.bytes = v; });
  t.slider("warps per multiprocessor", [1, 2, 4, 8, 16, 24, 32, 48, 64], 4, (v) => `${v}`, (v) => { s.warps = v; });
  const latencies = [300, 400, 500, 600, 700, 800, 1000, 1200].concat(d.latency).sort((a, b) => a - b);
  t.slider("latency", [...new Set(latencies)], [...new Set(latencies)].indexOf(d.latency), (v) => `${Math.round(v)} ns`, (v) => { s.latency = v; });
  const most = Math.max(64 * 32 * 4 * 4, ...Object.values(d.points).map(([held]) => held)) * 1.05;
  const many = (v) => Math.round(v).toLocaleString("en");
  return function draw() {
    const held = s.loads * s.bytes * 32 * s.warps, allowed = held * d.many / s.latency;
    const speed = Math.min(allowed, d.ceiling), turn = held * d.many / speed, full = allowed > d.ceiling;
    const svg = t.svg(W, GANTT + CHART + 36, "Loads in flight over time, and the speed that they allow");
    // Two latencies of the slowest setting: the same scale for all.
    const span = 2600, x = (ns) => LEFT + ns / span * (W - LEFT - 10), rows = Math.min(s.warps, SHOWN), high = (GANTT - 30) / rows;
    for (let w = 0; w < rows; w++) for (let begin = 0; begin < span; begin += turn) for (let k = 0; k < s.loads; k++) {
      const y = 4 + w * high + k * (high - 4) / s.loads;
      svg.append(t.rect(x(begin) + 1, y, Math.min(x(begin + turn), W - 10) - x(begin) - 2, (high - 4) / s.loads - 1,
        `var(--fk-series${s.bytes === 16 ? 0 : 3})`, { "data-load": `${w} ${k}`, rx: 2 }));
    }
    svg.append(t.text(0, 14, "warps"), t.line(`M${LEFT} ${GANTT - 24}H${W - 10}`));
    for (const ns of [0, 500, 1000, 1500, 2000, 2500]) svg.append(t.text(x(ns), GANTT - 10, `${ns} ns`, { class: "soft", "text-anchor": "middle" }));
    const top = GANTT + 12, px = (b) => LEFT + Math.min(b / most, 1) * (W - LEFT - 10), py = (g) => top + CHART - g / (d.ceiling * 1.12) * CHART;
    const knee = d.ceiling * s.latency / d.many;
    svg.append(t.line(`M${LEFT} ${top}V${top + CHART}H${W - 10}`),
      t.line(`M${px(0)} ${py(0)}L${px(knee)} ${py(Math.min(d.ceiling, most * d.many / s.latency))}H${W - 10}`, { style: "stroke:var(--fk-ink);stroke-width:2", "data-little": Math.round(knee) }),
      t.text(W - 12, py(d.ceiling) - 5, `ceiling, a copy: ${many(d.ceiling)} GB/s`, { "text-anchor": "end", class: "soft" }),
      t.text(W - 12, top + CHART + 30, "bytes in flight per multiprocessor", { "text-anchor": "end", class: "soft" }),
      t.text(LEFT + 4, top + 10, "GB/s", { class: "soft" }));
    for (const b of [0, 8192, 16384, 24576, 32768, 49152].filter((b) => b < most)) svg.append(t.text(px(b), top + CHART + 16, b ? `${b / 1024} kB` : "0", { "text-anchor": "middle", class: "soft" }));
    Object.entries(d.points).forEach(([name, [b, g]], k) => svg.append(
      t.rect(px(b) - 4, py(g) - 4, 8, 8, `var(--fk-series${k % 7})`, { transform: `rotate(${45 * (k % 2)} ${px(b)} ${py(g)})`, "data-point": name }),
      t.text(px(b) + 8, py(g) + 14 + 12 * (k % 2), name)));
    svg.append(t.rect(px(held) - 6, py(speed) - 6, 12, 12, "none", { style: "fill:none;stroke:var(--fk-focus);stroke-width:3", rx: 6, "data-here": "" }));
    t.box.replaceChildren(svg);
    t.facts.textContent = `${many(held)} bytes in flight per multiprocessor: ${many(speed)} GB/s. `
      + (full ? `Memory is the limit: each turn of loads takes ${many(turn)} ns, longer than the latency.`
        : `The latency is the limit: ${many(knee)} bytes would reach the ceiling.`);
  };
}
