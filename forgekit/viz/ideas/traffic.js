// Accesses of a warp become sectors, which travel from memory through L2 to the multiprocessor; what
// nobody asked for turns orange there. Kernels share one clock: a sector per tick.
function fk_traffic(t, d) {
  const names = Object.keys(d.films), W = 760, LANE = 96, L2 = 320, SM = 610, TICKS = 3;
  // Of each kernel its sectors in order: which access, which sector of it, bytes used.
  const queues = names.map((name) => d.films[name].frames.flatMap((frame, f) =>
    frame.used.map((used, k) => ({ used, k, f, store: frame.store }))));
  const last = Math.max(...queues.map((q) => q.length)) + TICKS;
  const s = { tick: 0, timer: null };
  const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const play = t.button("Play", () => (s.timer ? stop() : start()));
  const slider = t.slider("sector", Array.from({ length: last + 1 }, (_, k) => k), 0, (k) => `${Math.min(k, last - TICKS)}`, (k) => { s.tick = k; });
  function stop() {
    clearInterval(s.timer);
    s.timer = null;
    play.textContent = "Play";
  }
  function start() {
    if (s.tick >= last) s.tick = 0;
    if (quiet) { slider.to(Math.min(s.tick + 8, last)); return; } // a step, and no motion
    play.textContent = "Pause";
    s.timer = setInterval(() => {
      if (!t.box.isConnected || s.tick >= last) stop();
      else slider.to(s.tick + 1);
    }, 60);
  }
  const many = (n) => n.toLocaleString("en");
  return function draw() {
    const svg = t.svg(W, 22 + names.length * LANE, `${names.join(" and ")}: sectors on their way`);
    for (const [x, words] of [[44, "device memory"], [L2, "L2"], [SM, "multiprocessor"]]) svg.append(t.text(x, 12, words, { class: "soft", "text-anchor": "middle" }));
    const facts = [];
    names.forEach((name, r) => {
      const film = d.films[name], queue = queues[r], y = 30 + r * LANE;
      const arrived = queue.slice(0, Math.max(s.tick - TICKS, 0)), used = arrived.reduce((sum, e) => sum + e.used, 0);
      const frame = film.frames[queue[Math.min(s.tick, queue.length - 1)].f];
      svg.append(t.text(0, y + 4, name, { "font-weight": 600 }), t.text(0, y + 20, `${frame.store ? "store" : "load"}: ${frame.line}`, { class: "soft" }),
        t.rect(L2 - 1, y + 26, 2, 34, "var(--fk-rule)"), t.rect(SM - 1, y + 26, 2, 34, "var(--fk-rule)"));
      for (let k = Math.max(s.tick - TICKS, 0); k < Math.min(s.tick, queue.length); k++) {
        const e = queue[k], age = s.tick - k, along = (e.store ? TICKS - age : age) / TICKS, x = 20 + along * (SM - 70);
        svg.append(t.rect(x, y + 32, 52, 22, "var(--fk-wrong)", { rx: 2 }), t.rect(x, y + 32, 52 * e.used / 32, 22, "var(--fk-series0)", { rx: 2, "data-used": e.used }));
      }
      // What has arrived, bytes as length: both kernels on one scale.
      const scale = 140 / Math.max(...queues.map((q) => q.length * 32));
      svg.append(t.rect(SM + 8, y + 32, used * scale, 22, "var(--fk-series0)"), t.rect(SM + 8 + used * scale, y + 32, (arrived.length * 32 - used) * scale, 22, "var(--fk-wrong)"));
      if (arrived.length === queue.length) svg.append(t.text(SM + 8, y + 68, "all here", { class: "soft" }));
      facts.push(`${name}: ${many(used)} bytes asked for, ${many(arrived.length * 32)} moved`
        + (s.tick >= last ? `; in the whole run ${many(film.used)} of ${many(film.moved)} (${Math.round(100 * film.used / film.moved)} %)` : "") + ".");
    });
    t.box.replaceChildren(svg);
    t.facts.textContent = facts.join(" ");
  };
}
