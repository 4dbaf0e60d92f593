// Blocks drop into a multiprocessor's four resources; the one that is full first is named.
function fk_multiprocessor(t, d) {
  const W = 760, LEFT = 118, ROW = 58;
  const s = { arch: d.arch, threads: d.threads, registers: d.registers, shared: d.shared };
  const steps = (values, own) => [...new Set([...values, own])].sort((a, b) => a - b);
  const threads = steps(Array.from({ length: 32 }, (_, k) => 32 * (k + 1)), d.threads);
  const registers = steps(Array.from({ length: 32 }, (_, k) => Math.min(8 * (k + 1), 255)), d.registers);
  const shared = steps([0, ...Array.from({ length: 56 }, (_, k) => 4096 * (k + 1)), 232448], d.shared);
  const names = Object.keys(d.archs);
  t.slider("architecture", names, names.indexOf(d.arch), (v) => v, (v) => { s.arch = v; });
  t.slider("threads per block", threads, threads.indexOf(d.threads), (v) => `${v}`, (v) => { s.threads = v; });
  t.slider("registers per thread", registers, registers.indexOf(d.registers), (v) => `${v}`, (v) => { s.registers = v; });
  t.slider("shared memory per block", shared, shared.indexOf(d.shared), (v) => `${(v / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} kB`, (v) => { s.shared = v; });
  return function draw() {
    const has = d.archs[s.arch], limits = fk_multiprocessor.limits(has, s.threads, s.registers, s.shared);
    const blocks = Math.min(...Object.values(limits)), warps = Math.ceil(s.threads / 32);
    const full = Object.keys(limits).filter((name) => limits[name] === blocks);
    // Of each resource: what a block takes of it, and how it is counted.
    const perWarp = Math.ceil(s.registers * 32 / 256) * 256;
    const takes = {
      warps: [warps / has.warps, `${warps} of ${has.warps}`],
      registers: [warps * perWarp / 65536, `${(warps * perWarp).toLocaleString("en")} of 65,536`],
      "shared memory": [(Math.ceil((s.shared + 1024) / 128) * 128) / has.shared_bytes, `${((s.shared + 1024) / 1024).toFixed(1)} of ${has.shared_bytes / 1024} kB`],
      blocks: [1 / has.blocks, `1 of ${has.blocks}`],
    };
    const svg = t.svg(W, 4 * ROW + 8, `${blocks} blocks fit; full first: ${full.join(" and ")}`);
    Object.entries(takes).forEach(([name, [share, words]], r) => {
      const y = 8 + r * ROW, room = W - LEFT - 10, first = full.includes(name);
      svg.append(t.text(0, y + 14, name, { "font-weight": first ? 700 : 400 }), t.text(0, y + 30, words, { class: "soft" }),
        t.rect(LEFT, y, room, 36, "var(--fk-quiet)", { rx: 3 }));
      for (let k = 0; k < blocks; k++) {
        svg.append(t.rect(LEFT + k * share * room + 0.5, y + 2, share * room - 1, 32, `var(--fk-series${first ? 0 : 3})`,
          { "data-block": `${r} ${k}`, rx: 2 }));
      }
      if (first && (blocks + 1) * share > 0) {
        svg.append(t.text(W - 12, y + 50, blocks ? "full: one more block does not fit" : "one block does not fit", { "text-anchor": "end" }));
      }
    });
    t.box.replaceChildren(svg);
    t.facts.textContent = `${blocks} block${blocks === 1 ? "" : "s"} per multiprocessor: ${blocks * warps} of ${has.warps} warps `
      + `(${Math.round(100 * blocks * warps / has.warps)} %). Full first: ${full.join(" and ")}. Room for `
      + Object.entries(limits).map(([name, many]) => `${many} by ${name}`).join(", ") + ".";
  };
}
// As `Multiprocessor.limits` in Python has it.
fk_multiprocessor.limits = (has, threads, registers, shared) => {
  const up = (v, unit) => Math.ceil(v / unit) * unit, warps = Math.ceil(threads / 32);
  const held = 4 * Math.floor(16384 / up(registers * 32, 256));
  return { warps: Math.floor(has.warps / warps), registers: Math.floor(held / warps),
    "shared memory": Math.floor(has.shared_bytes / up(shared + 1024, 128)), blocks: has.blocks };
};
