// Blocks fill a multiprocessor's four resources. The text names the resource that is full first.
function fk_multiprocessor(t, d) {
  const s = { arch: d.arch, threads: d.threads, registers: d.registers, shared: d.shared };
  const names = Object.keys(d.archs), kB = (v) => `${(v / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} kB`;
  const from = (key, name, values, words = String) => {
    const all = [...new Set([...values, s[key]])].sort((a, b) => a - b);
    t.slider(name, all, all.indexOf(s[key]), words, (v) => { s[key] = v; });
  };
  const steps = (count, f) => Array.from({ length: count }, (_, k) => f(k + 1));
  t.slider("architecture", names, names.indexOf(d.arch), String, (v) => { s.arch = v; });
  from("threads", "threads per block", steps(32, (k) => 32 * k));
  from("registers", "registers per thread", steps(32, (k) => Math.min(8 * k, 255)));
  from("shared", "shared memory per block", [0, ...steps(56, (k) => 4096 * k), 232448], kB);
  return function draw() {
    const has = d.archs[s.arch], limits = fk_multiprocessor.limits(has, s.threads, s.registers, s.shared);
    const blocks = Math.min(...Object.values(limits)), warps = Math.ceil(s.threads / 32);
    const full = Object.keys(limits).filter((name) => limits[name] === blocks);
    const W = t.width(), [LEFT, DOWN] = W < 600 ? [0, 20] : [164, 0], ROW = 56 + DOWN, room = W - LEFT;
    // For each resource: the fraction that a block uses, and a text with the amount.
    const perWarp = Math.ceil(s.registers * 32 / 256) * 256;
    const takes = {
      warps: [warps / has.warps, `${warps} of ${has.warps}`],
      registers: [warps * perWarp / 65536, `${t.many(warps * perWarp)} of 65,536`],
      "shared memory": [(Math.ceil((s.shared + 1024) / 128) * 128) / has.shared_bytes, `${((s.shared + 1024) / 1024).toFixed(1)} of ${has.shared_bytes / 1024} kB`],
      blocks: [1 / has.blocks, `1 of ${has.blocks}`],
    };
    const svg = t.svg(4 * ROW, `room for ${blocks} block${blocks === 1 ? "" : "s"}; limited by ${full.join(" and ")}`);
    Object.entries(takes).forEach(([name, [share, words]], r) => {
      const y = r * ROW, top = y + DOWN, first = full.includes(name);
      svg.append(t.text(0, y + 14, name, { "font-weight": first ? 700 : 400 }),
        t.text(LEFT ? 0 : W, y + (LEFT ? 30 : 14), `a block: ${words}`, { class: "soft", "text-anchor": LEFT ? "start" : "end" }),
        t.rect(LEFT, top, room, 36, "var(--fk-quiet)", { rx: 3 }));
      for (let k = 0; k < blocks; k++) {
        svg.append(t.rect(LEFT + k * share * room + 0.5, top + 2, share * room - 1, 32, `var(--fk-series${first ? 0 : 3})`,
          { "data-block": `${r} ${k}`, rx: 2 }));
      }
      if (first) svg.append(t.text(W - 2, top + 49, blocks ? "full: one more block does not fit" : "one block does not fit", { "text-anchor": "end", "font-weight": 700 }));
    });
    t.show(svg);
    t.facts.textContent = `${blocks} block${blocks === 1 ? "" : "s"} per multiprocessor: ${blocks * warps} of ${has.warps} warps `
      + `(${Math.round(100 * blocks * warps / has.warps)} %). Limited by ${full.join(" and ")}. Room for `
      + Object.entries(limits).map(([name, many]) => `${many} by ${name}`).join(", ") + ".";
  };
}
// Computes the same as `Multiprocessor.limits` in Python.
fk_multiprocessor.limits = (has, threads, registers, shared) => {
  const up = (v, unit) => Math.ceil(v / unit) * unit, warps = Math.ceil(threads / 32);
  const held = 4 * Math.floor(16384 / up(registers * 32, 256));
  return { warps: Math.floor(has.warps / warps), registers: Math.floor(held / warps),
    "shared memory": Math.floor(has.shared_bytes / up(shared + 1024, 128)), blocks: has.blocks };
};
