// The accesses of a warp become sectors, which travel between memory and the multiprocessor through
// L2. Unrequested bytes are orange and fall away. All kernels share a clock: each moves one sector
// per tick.
function fk_traffic(t, d) {
  const names = Object.keys(d.films), LANE = 104, TICKS = 3;
  // For each kernel, its sectors in order: the access and the bytes used.
  const queues = names.map((name) => d.films[name].frames.flatMap((frame, f) =>
    frame.used.map((used) => ({ used, f, store: frame.store }))));
  const last = Math.max(...queues.map((q) => q.length)) + TICKS;
  const s = { tick: 0, timer: null };
  const quiet = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const play = t.button("Play", () => (s.timer ? stop() : start()));
  const slider = t.slider("sectors sent", [...Array(last + 1).keys()], 0, (k) => `${Math.min(k, last - TICKS)} of ${last - TICKS}`, (k) => { s.tick = k; });
  function stop() {
    clearInterval(s.timer);
    s.timer = null;
    play.textContent = "Play";
  }
  function start() {
    if (s.tick >= last) s.tick = 0;
    if (quiet) { slider.to(Math.min(s.tick + 8, last)); return; } // steps instead of motion
    play.textContent = "Pause";
    s.timer = setInterval(() => {
      if (!t.box.isConnected || s.tick >= last) stop();
      else slider.to(s.tick + 1);
    }, 60);
  }
  return function draw() {
    const W = t.width(), SM = W * 0.72, L2 = SM / 2, wide = Math.min(52, W / 9), room = W - SM - 12, facts = [];
    const svg = t.svg(18 + names.length * LANE, `${names.join(" and ")}: sectors in flight`);
    for (const [x, anchor, words] of [[0, "start", "memory"], [L2, "middle", "L2"], [SM, "middle", "SM"], [W, "end", "bytes so far"]]) {
      svg.append(t.text(x, 12, words, { class: "soft", "text-anchor": anchor }));
    }
    const scale = room / Math.max(...queues.map((q) => q.length * 32)); // one scale for both kernels
    names.forEach((name, r) => {
      const film = d.films[name], queue = queues[r], y = 28 + r * LANE;
      const arrived = queue.slice(0, Math.max(s.tick - TICKS, 0)), used = arrived.reduce((sum, e) => sum + e.used, 0);
      const frame = film.frames[queue[Math.min(s.tick, queue.length - 1)].f], letters = Math.floor(W / 6.4);
      const line = `${frame.store ? "store" : "load"}: ${frame.line}`;
      svg.append(t.text(0, y + 8, name, { "font-weight": 600 }),
        t.text(0, y + 24, line.length > letters ? `${line.slice(0, letters - 1)}…` : line, { class: "soft" }),
        t.rect(L2 - 1, y + 32, 2, 34, "var(--fk-rule)"), t.rect(SM - 1, y + 32, 2, 34, "var(--fk-rule)"));
      for (let k = Math.max(s.tick - TICKS, 0); k < Math.min(s.tick, queue.length); k++) {
        const { used: asked, store } = queue[k], age = (s.tick - k - 1) / (TICKS - 1);
        const x = (store ? 1 - age : age) * (SM - wide - 6), cut = wide * asked / 32;
        svg.append(t.rect(x + cut, y + 34 + (age === 1 ? 12 : 0), wide - cut, 22, "var(--fk-wrong)", { rx: 2 }),
          t.rect(x, y + 34, cut, 22, "var(--fk-series0)", { rx: 2, "data-used": asked }));
      }
      svg.append(t.rect(SM + 8, y + 34, used * scale, 22, "var(--fk-series0)"),
        t.rect(SM + 8 + used * scale, y + 34, (arrived.length * 32 - used) * scale, 22, "var(--fk-wrong)"));
      if (arrived.length === queue.length) svg.append(t.text(SM + 8, y + 70, "all here", { class: "soft" }));
      facts.push(`${name}: ${t.many(arrived.length * 32)} bytes moved, ${t.many(used)} of them requested`
        + (s.tick >= last ? `; in the whole run ${t.many(film.used)} of ${t.many(film.moved)} (${Math.round(100 * film.used / film.moved)} %)` : "") + ".");
    });
    t.show(svg);
    t.facts.textContent = facts.join(" ");
  };
}
