// Shows copies in flight above, and work and waiting below, for each kernel on a common clock.
function fk_pipeline(t, d) {
  const names = Object.keys(d.programs), ROW = 84, s = { copy: 600, work: 2 };
  t.slider("a copy takes", [100, 200, 400, 600, 800, 1200], 3, (v) => `${v} ns`, (v) => { s.copy = v; });
  t.slider("an instruction takes", [0.5, 1, 2, 4, 8], 2, (v) => `${v} ns`, (v) => { s.work = v; });
  return function draw() {
    const runs = names.map((name) => fk_pipeline.run(d.programs[name], s.copy, s.work)), W = t.width();
    const ends = runs.map((run) => Math.max(...run.map((e) => e[2]))), x = (ns) => ns / Math.max(...ends) * W;
    const svg = t.svg(names.length * ROW, `Copies and work of ${names.join(" and ")}`), facts = [];
    names.forEach((name, r) => {
      const y = 12 + r * ROW, rows = []; // overlapping copies are drawn below each other
      svg.append(t.text(0, y, name, { "font-weight": 600 }));
      for (const [kind, from, to] of runs[r]) {
        if (kind === "copy") {
          let k = rows.findIndex((free) => free <= from);
          if (k < 0) k = rows.length;
          rows[k] = to;
          svg.append(t.rect(x(from), y + 8 + 11 * Math.min(k, 2), x(to) - x(from) - 1, 9, "var(--fk-series3)", { "data-kind": kind, rx: 2 }));
        } else {
          svg.append(t.rect(x(from), y + 44, x(to) - x(from), 16, "none", { "data-kind": kind,
            style: kind === "work" ? "fill:var(--fk-series0)" : "fill:none;stroke:var(--fk-rule);stroke-dasharray:3 2" }));
        }
      }
      const waits = runs[r].filter(([kind]) => kind === "wait").reduce((sum, e) => sum + e[2] - e[1], 0);
      facts.push(`${name}: ${t.many(ends[r])} ns, ${Math.round(100 * waits / ends[r])} % of it waiting.`);
    });
    t.show(svg);
    t.facts.textContent = facts.join(" ");
  };
}
// Computes the same as `run` in Python.
fk_pipeline.run = (program, copy, work) => {
  let now = 0, pending = [];
  const found = [];
  for (const [kind, number] of program) {
    if (kind === "copy") {
      pending.push(now + copy);
      found.push(["copy", now, now + copy]);
    } else if (kind === "empty") {
      pending.push(now);
    } else if (kind === "wait") {
      const done = pending.slice(0, Math.max(pending.length - number, 0)), until = Math.max(now, ...done);
      if (until > now) found.push(["wait", now, until]);
      now = until;
      pending = pending.slice(done.length);
    } else {
      found.push(["work", now, now + number * work]);
      now += number * work;
    }
  }
  return found;
};
