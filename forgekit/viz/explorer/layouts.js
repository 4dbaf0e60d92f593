// CuTe's layout algebra and the banks of shared memory, for the playground. The results and the
// errors equal those of forgekit.layouts, as tests/book/test_playground.py checks. A tuple is an
// array, `_` is null, 2@1 is {value: 2, mode: [1]}, a layout is {shape, stride}, S<2,0,3> is
// {bits, base, shift}, and a composed layout is {inner, offset, outer}.

const mod = (a, n) => ((a % n) + n) % n;
const flat = (x) => (Array.isArray(x) ? x.flatMap(flat) : [x]);
const product = (x) => flat(x).reduce((a, b) => a * b, 1);
const isLayout = (x) => x !== null && x?.stride !== undefined;
const isComposed = (x) => x !== null && x?.outer !== undefined;
const isSwizzle = (x) => x !== null && x?.bits !== undefined;
const isBasis = (x) => x !== null && x?.mode !== undefined;
const asParts = (x) => (Array.isArray(x) ? x : [x]);
const layout = (shape, stride) => ({ shape, stride });
const sizeOf = (x) => product((x.outer ?? x).shape);
const ceilDiv = (a, b) => Math.ceil(a / b);

function text(x) {
  if (x === null) return "_";
  if (Array.isArray(x)) return `(${x.map(text).join(",")})`;
  if (isLayout(x)) return `${text(x.shape)}:${text(x.stride)}`;
  if (isComposed(x)) return `${text(x.inner)} o ${text(x.offset)} o ${text(x.outer)}`;
  if (isSwizzle(x)) return `S<${x.bits},${x.base},${x.shift}>`;
  return isBasis(x) ? `${x.value}@${[...x.mode].reverse().join("@")}` : String(x);
}

class LayoutError extends Error {
  constructor(what, got, needed, remedy) {
    super(`${what}: got ${got}, needed ${needed}; ${remedy}`);
  }
}
function refuse(what, got, needed, remedy) { throw new LayoutError(what, got, needed, remedy); }

// -- reading ------------------------------------------------------------------------------------
const LARGEST = 2 ** 31 - 1; // the largest number that XOR handles in JavaScript

// Reads the text of a field: a layout, a swizzle, a number, or a tuple of these, which may contain
// `_`.
function read(source) {
  const whole = source.trim();
  const printed = /^(?:tensor<ptr<[^S]*?> o |Tensor<0x[0-9a-f]+@\w+ o |!cute\.layout<")(.+?)"?>$/;
  const words = whole.match(printed)?.[1] ?? whole;
  let at = 0;
  const fail = (needed) => refuse(`reading "${whole}"`, words.slice(at, at + 20) || "the end",
    needed, 'for example "(4,8):(8,1)", as CuTe prints it');
  const take = (pattern) => {
    const found = words.slice(at).match(new RegExp(`^(?:${pattern})\\s*`))?.[0];
    at += found?.length ?? 0;
    return found?.trim();
  };
  const need = (pattern, name) => take(pattern) ?? fail(name);
  const number = (pattern, name) => {
    const value = Number(need(pattern, name));
    if (Math.abs(value) > LARGEST) fail(`numbers up to ${LARGEST}`);
    return value;
  };
  const leaf = () => {
    if (take("_|None(?!\\w)")) return null;
    if (words[at] === "?") {
      refuse(`reading "${whole}"`, "? (known only at run time)", "a number", "pass the sizes");
    }
    const value = number("-?\\d+", "a number or ?"), mode = [];
    while (take("@")) mode.unshift(number("\\d+", "the number of a mode"));
    return mode.length ? { value, mode } : value;
  };
  const part = () => {
    if (!take("\\(")) return leaf();
    const entries = [];
    while (!take("\\)")) {
      if (entries.length) need(",", "',' or ')'");
      if (words[at] !== ")") entries.push(value()); // (4,), Python's tuple with one entry
    }
    return entries;
  };
  const value = () => {
    const first = part();
    return take(":") ? makeLayout(first, part()) : first;
  };
  const swizzle = () => {
    take("S<");
    const bits = number("\\d+", "a number");
    need(",", "','");
    const base = number("\\d+", "a number");
    need(",", "','");
    const shift = number("-?\\d+", "a number");
    if (take(">") === undefined && shift >= 0) fail("'>'"); // CuTe omits the `>` of S<3,4,-3>
    return makeSwizzle(bits, base, shift);
  };
  const inner = words.startsWith("S<") ? swizzle() : value();
  let found = inner;
  if (take("o(?=\\s)")) {
    const offset = part();
    need("o(?=\\s)", "' o ' and a layout");
    found = makeComposed(inner, offset, value());
  }
  if (at < words.length) fail("nothing more");
  return found;
}

function makeLayout(shape, stride) {
  for (const size of flat(shape)) {
    if (!Number.isInteger(size) || size < 1) {
      refuse("shape entry", size === null ? "None" : text(size), "a positive integer",
        "pass sizes as integers or nested tuples of integers, such as (4, (2, 2))");
    }
  }
  stride ??= compactStrides(shape);
  for (const step of flat(stride)) {
    if (Number.isInteger(step) || isBasis(step)) continue;
    refuse("stride entry", step === null ? "None" : text(step), "an integer",
      "pass strides in elements, nested like the shape, such as (1, (4, 8))");
  }
  if (!congruent(shape, stride)) {
    refuse("stride", `${text(stride)} for shape ${text(shape)}`,
      "one stride per size, nested like the shape",
      "for example Layout((4, (2, 2)), (1, (4, 8)))");
  }
  return layout(shape, stride);
}

function makeSwizzle(bits, base, shift) {
  const bad = (why) => refuse("Swizzle(bits, base, shift)", `(${bits}, ${base}, ${shift}): ${why}`,
    "integers with bits >= 0, base >= 0 and abs(shift) >= bits",
    "for 128-byte rows of 16-byte chunks, use Swizzle(3, 4, 3) on byte offsets");
  if (bits === 0) return { bits, base: 4, shift: 3 };
  if (Math.abs(shift) < bits) bad("the two groups of bits would overlap: abs(shift) < bits");
  if (bits + base + Math.abs(shift) > 32) bad("the swizzle reaches beyond 32 bits");
  return { bits, base, shift };
}

function makeComposed(inner, offset, outer) {
  if (!(isSwizzle(inner) || isLayout(inner)) || !isLayout(outer)) {
    refuse("ComposedLayout(inner, offset, outer)", `${text(inner)}, ${text(outer)}`,
      "a Swizzle or Layout as inner, a Layout as outer",
      "for example ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))");
  }
  return { inner, offset, outer };
}

// A shape alone is a layout whose first mode is contiguous, as in make_layout.
const asWhole = (x) => (isLayout(x) || isComposed(x) ? x : makeLayout(x));

function compactStrides(shape, start = 1) {
  if (!Array.isArray(shape)) return shape === 1 ? 0 : start;
  return shape.map((entry) => {
    const stride = compactStrides(entry, start);
    start *= product(entry);
    return stride;
  });
}

function weaklyCongruent(a, b) {
  if (!Array.isArray(a)) return true;
  return Array.isArray(b) && a.length === b.length && a.every((x, i) => weaklyCongruent(x, b[i]));
}
const congruent = (a, b) => weaklyCongruent(a, b) && weaklyCongruent(b, a);

// -- coordinates ----------------------------------------------------------------------------------
// The nested coordinate of a linear index; the leftmost mode varies fastest.
function coordinate(index, shape) {
  if (!Array.isArray(shape)) return index;
  return shape.map((part, i) => {
    const size = product(part);
    const here = i < shape.length - 1 ? index % size : index;
    index = Math.floor(index / size);
    return coordinate(here, part);
  });
}

function swizzled(offset, swizzle) {
  if (!swizzle) return offset;
  const [bits, base, shift] = swizzle;
  const taken = (offset >> (base + Math.max(shift, 0))) & ((1 << bits) - 1);
  return offset ^ (taken << (base + Math.max(-shift, 0)));
}

function times(stride, count) {
  return isBasis(stride) ? { value: stride.value * count, mode: stride.mode } : stride * count;
}

function plus(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => plus(a[i] ?? 0, b[i] ?? 0));
  }
  if (!Array.isArray(a) && !Array.isArray(b)) return a + b;
  const [count, other] = Array.isArray(a) ? [b, a] : [a, b];
  if (count === 0) return other;
  return refuse("offset", `${text(a)} + ${text(b)}`, "integers only or coordinates only",
    "do not mix integer strides with basis strides such as 1@0");
}

function offsetIn(coord, shape, stride) {
  if (Array.isArray(coord)) {
    if (!Array.isArray(shape) || coord.length !== shape.length) misfit(coord, shape);
    return coord.reduce((sum, c, i) => plus(sum, offsetIn(c, shape[i], stride[i])), 0);
  }
  if (!Array.isArray(shape)) {
    if (!isBasis(stride)) return coord * stride;
    const modes = [...stride.mode].reverse();
    return modes.reduce((sum, mode) => [...Array(mode).fill(0), sum], stride.value * coord);
  }
  let sum = 0;
  shape.forEach((entry, i) => {
    const size = product(entry), last = i === shape.length - 1;
    sum = plus(sum, offsetIn(last ? coord : coord % size, entry, stride[i]));
    coord = Math.trunc(coord / size);
  });
  return sum;
}

function misfit(coord, shape) {
  refuse("coordinate", text(coord), `an integer or a tuple nested like the shape ${text(shape)}`,
    "one integer may index a whole nested mode, but a tuple cannot index an innermost mode; "
    + "layout.flatten() needs one integer per innermost mode");
}

// The offset of a coordinate, which is a linear index, one index per mode, or nested like the
// shape.
function offsetAt(a, coord) {
  if (!isComposed(a)) return offsetIn(coord, a.shape, a.stride);
  const found = plus(a.offset, offsetIn(coord, a.outer.shape, a.outer.stride));
  if (isLayout(a.inner)) return offsetAt(a.inner, found);
  if (Array.isArray(found)) {
    refuse(text(a.inner), text(found), "an integer offset",
      "compose the coordinate layout with a memory layout first");
  }
  return swizzled(found, [a.inner.bits, a.inner.base, a.inner.shift]);
}

const indexAt = (shape, coord) => offsetIn(coord, shape, compactStrides(shape));

// The modes for which a coordinate has `_`, and the offset of the other modes.
function slice(a, coord) {
  if (isComposed(a)) {
    const [outer, start] = slice(a.outer, coord);
    return [{ ...a, offset: plus(a.offset, start), outer }, start];
  }
  if (coord !== null && !weaklyCongruent(coord, a.shape)) {
    refuse("coordinate", text(coord), `a tuple nested like the shape ${text(a.shape)}`,
      "one integer or None per mode");
  }
  const kept = (c, value) => {
    if (Array.isArray(c)) return c.flatMap((x, i) => kept(x, value[i]));
    return c === null ? [value] : [];
  };
  const zero = (c) => (Array.isArray(c) ? c.map(zero) : c ?? 0);
  const found = coord === null ? a : layout(kept(coord, a.shape), kept(coord, a.stride));
  return [found, offsetIn(zero(coord), a.shape, a.stride)];
}

// -- algebra --------------------------------------------------------------------------------------
const modesOf = (a) => asParts(a.shape).map((s, i) => layout(s, asParts(a.stride)[i]));
const joined = (all) => layout(all.map((a) => a.shape), all.map((a) => a.stride));
const flatModes = (a) => {
  const strides = flat(a.stride);
  return flat(a.shape).map((size, i) => [size, strides[i]]);
};

function fromModes(modes) {
  if (modes.length === 0) return layout(1, 0);
  if (modes.length === 1) return layout(...modes[0]);
  return layout(modes.map(([s]) => s), modes.map(([, d]) => d));
}

function requireIntegers(a, what) {
  if (flat(a.stride).some(isBasis)) {
    refuse(`${what} of ${text(a)}`, "strides like 1@0", "integer strides",
      "compose the coordinate layout with a memory layout first");
  }
}

function requireLayout(a, what) {
  if (isLayout(a)) return a;
  return refuse(what, a === null ? "None" : text(a), "a Layout",
    "write shape:stride, such as (4,8):(8,1), here without a swizzle");
}

function merged(modes) {
  const found = [];
  for (const [size, stride] of modes) {
    if (size === 1) continue;
    const last = found.at(-1);
    if (last && text(times(last[1], last[0])) === text(stride)) last[0] *= size;
    else found.push([size, stride]);
  }
  return found;
}

// Applies a function of a layout to the layout inside a composed layout.
const within = (f) => (a, ...more) =>
  (isComposed(a) ? { ...a, outer: f(a.outer, ...more) } : f(a, ...more));

const coalesce = within((a, profile = null) => {
  if (!Array.isArray(profile) || !profile.length) {
    return Array.isArray(a.shape) && !a.shape.length ? a : fromModes(merged(flatModes(a)));
  }
  if (!Array.isArray(a.shape) || profile.length > a.shape.length) {
    refuse("profile", text(profile), `no more entries than modes of ${text(a)}`,
      "pass one entry per mode to coalesce");
  }
  return joined(modesOf(a).map((m, i) => (i < profile.length ? coalesce(m, profile[i]) : m)));
});

function asTile(value, what) {
  if (isLayout(value)) return value;
  if (Number.isInteger(value)) return makeLayout(value);
  return refuse(`${what}: tiler`, value === null ? "None" : text(value),
    "a Layout, an integer, or a tuple of these with one entry per mode", "for example (32, 8)");
}

function byMode(f, a, tiler, what) {
  const modes = modesOf(a);
  if (tiler.length > modes.length) {
    refuse(`${what}: tiler`, `${tiler.length} entries`,
      `at most ${modes.length}, one per mode of ${text(a)}`,
      "pass one entry per mode; None keeps a mode whole");
  }
  return modes.map((m, i) => (i < tiler.length && tiler[i] !== null ? f(m, tiler[i]) : m));
}

const composition = within((a, b) => {
  if (Array.isArray(b)) return joined(byMode(composition, a, b, "composition").slice(0, b.length));
  const other = asTile(b, "composition");
  return compose(a, other.shape, other.stride);
});

function compose(a, shape, stride) {
  if (Array.isArray(shape)) return joined(shape.map((s, i) => compose(a, s, stride[i])));
  if (!isBasis(stride)) return composeLeaf(a, shape, stride);
  const mode = stride.mode.reduce((m, i) => {
    const all = modesOf(m);
    if (i >= all.length) refuse(`mode of ${text(m)}`, i, `0 to ${all.length - 1}`, "count from 0");
    return all[i];
  }, a);
  return compose(mode, shape, stride.value);
}

function composeLeaf(a, size, stride) {
  if (stride === 0) return layout(size, 0);
  const bad = (why) => refuse("composition", `${text(a)} o ${size}:${stride}, where ${why}`,
    "sizes and strides that divide one another",
    "choose a tile that divides the modes of the layout");
  const plain = flatModes(a);
  if (plain.at(-1)?.[0] === 1) plain[plain.length - 1] = [2, plain.at(-1)[1]]; // continues the mode
  const modes = merged(plain), found = [];
  if (!modes.length) bad("the left side has no modes");
  let rest = size, step = stride;
  for (const [extent, along] of modes.slice(0, -1)) {
    if (step % extent && step >= extent) bad(`${step} is not a multiple of ${extent}`);
    const available = ceilDiv(extent, Math.abs(step));
    const next = ceilDiv(Math.abs(step), extent) * Math.sign(step);
    if (available !== 1 && rest !== 1) {
      const taken = Math.min(available, rest);
      if (rest % taken) bad(`${rest} is not a multiple of ${taken}`);
      found.push([taken, times(along, step)]);
      rest = Math.floor(rest / taken);
    }
    step = next;
  }
  if (found.length && rest === 1) return fromModes(found);
  found.push([rest, times(modes.at(-1)[1], step)]);
  return fromModes(found.length > 1 ? merged(found) : found);
}

function complement(a, cotarget = 1) {
  requireLayout(a, "complement, layout");
  const target = isLayout(cotarget) ? cotarget.shape : makeLayout(cotarget).shape;
  const sizes = flatModes(a).map(([s, d]) => [d === 0 ? 1 : s, d]);
  const modes = merged(sizes), found = [];
  requireIntegers(a, "complement");
  const bad = (got, needed) => refuse(`complement of ${text(a)}`, got, needed,
    "use a layout or tiler whose coordinates all have different offsets");
  const least = Math.min(0, ...modes.map(([, d]) => d));
  if (least < 0) bad(`the stride ${least}`, "positive strides");
  let reached = 1;
  for (const [size, stride] of modes.sort((x, y) => x[1] - y[1])) {
    if (stride < reached) {
      bad(`the stride ${stride}, within the ${reached} elements that other modes span`,
        "each stride at least the span of the modes with smaller strides");
    }
    found.push([Math.floor(stride / reached), reached]);
    reached = size * stride;
  }
  let step = reached;
  for (const size of flat(target)) {
    const rest = ceilDiv(size, reached);
    found.push([rest, step]);
    step *= rest;
    reached = ceilDiv(reached, size);
  }
  return fromModes(merged(found));
}

// Stride, size and index stride of each coalesced mode.
function stepsOf(a) {
  let index = 1;
  return merged(flatModes(a)).map(([size, stride]) => {
    index *= size;
    return [stride, size, index / size];
  });
}

function rightInverse(a) {
  requireIntegers(requireLayout(a, "right_inverse, layout"), "right_inverse");
  const steps = stepsOf(a), found = [];
  for (let wanted = 1, next; (next = steps.find(([stride]) => stride === wanted));) {
    found.push([next[1], next[2]]);
    wanted *= next[1];
  }
  return fromModes(merged(found));
}

function leftInverse(a) {
  requireIntegers(requireLayout(a, "left_inverse, layout"), "left_inverse");
  const steps = stepsOf(a).filter(([stride]) => stride !== 0), found = [];
  let [reached, index, last] = [1, 0, 1];
  for (const [stride, size, at] of steps.sort((x, y) => x[0] - y[0])) {
    if (stride < 0 || stride % reached) {
      refuse(`left inverse of ${text(a)}`,
        `the stride ${stride}, not a positive multiple of ${reached}`,
        "positive strides, each a multiple of all smaller strides",
        "use a compact or padded layout such as (4,8):(9,1)");
    }
    found.push([stride / reached, index]);
    [reached, index, last] = [stride, at, size];
  }
  return fromModes(merged([...found, [last, index]]));
}

function cosizeOf(a) {
  if (isComposed(a)) {
    if (isSwizzle(a.inner)) return cosizeOf(a.outer);
    return refuse(`cosize of ${text(a)}`, "a layout as the inner function", "a swizzle",
      "use composition(inner, outer) to combine the two into one layout");
  }
  const spans = {};
  for (const [size, stride] of flatModes(a)) {
    const mode = isBasis(stride) ? text(stride.mode) : "";
    spans[mode] = (spans[mode] ?? 1) + (size - 1) * Math.abs(stride.value ?? stride);
  }
  return product(Object.values(spans));
}

// -- tiles ------------------------------------------------------------------------------------------
const logicalDivide = within((a, tiler) => {
  if (Array.isArray(tiler)) return joined(byMode(logicalDivide, a, tiler, "logical_divide"));
  const tile = asTile(tiler, "logical_divide");
  return composition(a, joined([tile, complement(tile, coalesce(a))]));
});

const zippedDivide = within((a, tiler) => {
  if (!(Array.isArray(tiler) && tiler.length) && !isLayout(tiler)) {
    refuse("zipped, tiled or flat divide: tiler", tiler === null ? "None" : text(tiler),
      "a tuple with one entry per mode, or a Layout", "write (4,) to cut mode 0 into tiles of 4");
  }
  return unzip(logicalDivide(a, tiler), tiler);
});

function unzip(divided, tiler) {
  const modes = modesOf(divided);
  if (!Array.isArray(tiler)) {
    if (modes.length === 2) return divided;
    refuse("zipped, tiled or flat divide", `None for the mode ${text(divided)}`,
      "a size for each mode of the tiler", "pass the mode's whole size, or use logical_divide");
  }
  const halves = tiler.slice(0, modes.length).map((entry, i) => modesOf(unzip(modes[i], entry)));
  const over = [...halves.map((h) => h[1]), ...modes.slice(tiler.length)];
  return joined([joined(halves.map((h) => h[0])), joined(over)]);
}

// Moves the modes of the second mode, or of both modes, to the top level.
const opened = (f, both) => within((a, tiler) => {
  const [first, second] = modesOf(f(a, tiler));
  return joined([...(both ? modesOf(first) : [first]), ...modesOf(second)]);
});

const logicalProduct = within((block, tiler) => {
  if (tiler === null) return block;
  if (Array.isArray(tiler)) return joined(byMode(logicalProduct, block, tiler, "logical_product"));
  const grid = asTile(tiler, "logical_product");
  const rest = complement(block, sizeOf(block) * cosizeOf(grid));
  return joined([block, composition(rest, grid)]);
});

const productBy = (name, f) => within((block, tiler) =>
  f(block, requireLayout(tiler, `${name}, tiler`)));

const interleaved = (name, blockFirst) => productBy(name, (block, tiler) => {
  const rank = Math.max(...[block, tiler].map((a) => modesOf(a).length));
  const padded = (a) => {
    const modes = modesOf(a);
    const more = Array(rank - modes.length).fill(layout(1, 0));
    return more.length ? joined([...modes, ...more]) : a;
  };
  const [copy, over] = modesOf(logicalProduct(padded(block), padded(tiler)));
  if (blockFirst) return paired(copy, over);
  return coalesce(paired(over, copy), Array(rank).fill(1));
});

function paired(first, second) {
  if (!Array.isArray(first.shape)) return joined([joined([first, second])]);
  const [one, two] = [modesOf(first), modesOf(second)];
  if (!Array.isArray(second.shape) || one.length !== two.length) {
    refuse("blocked or raked product", `${text(first)} and ${text(second)}`,
      "block and tiler with the same number of modes",
      "write a one-mode layout with a tuple, Layout((4,))");
  }
  return joined(one.map((mode, i) => joined([mode, two[i]])));
}

const blockedProduct = interleaved("blocked_product", true);
const rakedProduct = interleaved("raked_product", false);

// Returns the sizes of the tile, and the thread-value layout of values repeated over threads.
function makeLayoutTV(threads, values) {
  requireLayout(threads, "make_layout_tv, thr_layout");
  const tile = rakedProduct(threads, requireLayout(values, "make_layout_tv, val_layout"));
  const pairs = makeLayout([sizeOf(threads), sizeOf(values)]);
  return [modesOf(tile).map(sizeOf), composition(rightInverse(tile), pairs)];
}

// -- coverage -------------------------------------------------------------------------------------
const COUNTED = 65536; // maximum size for which repeated offsets are counted
const elements = (count, noun = "element") => `${count} ${noun}${count === 1 ? "" : "s"}`;
const grouped = (words) => `${words}`.replace(/\d{4,}/g, (digits) => Number(digits).toLocaleString("en"));

// Describes the offsets of a layout and their repetitions, in the same words as forgekit.
function coverage(a) {
  if (isComposed(a)) a = a.outer;
  if (flat(a.stride).some(isBasis)) return "";
  const size = sizeOf(a), cosize = cosizeOf(a), start = `It spans ${elements(cosize)} (cosize)`;
  const different = distinctOffsets(a, size);
  if (different === null) return start;
  if (different === size) {
    if (size === cosize) return `${start}: one-to-one and without gaps`;
    return `${start}: one-to-one, with ${elements(cosize - size, "gap")} in between`;
  }
  const repeats = flatModes(a).some(([s, d]) => s !== 1 && d === 0);
  return `${start}: not one-to-one, ${size} coordinates share ${different} offsets`
    + (repeats ? " (stride 0 repeats the same elements)" : "");
}

function distinctOffsets(a, size) {
  const moving = flatModes(a).filter(([s, d]) => s !== 1 && d !== 0);
  let reached = 0, count = 1;
  const apart = [...moving].sort((x, y) => Math.abs(x[1]) - Math.abs(y[1])).every(([s, d]) => {
    const beyond = Math.abs(d) > reached;
    reached += (s - 1) * Math.abs(d);
    count *= s;
    return beyond;
  });
  if (apart) return count;
  if (size > COUNTED) return null;
  let seen = new Set([0]);
  for (const [s, d] of moving) {
    const next = new Set();
    for (const at of seen) for (let i = 0; i < s; i++) next.add(at + i * d);
    seen = next;
  }
  return seen.size;
}

// -- banks ------------------------------------------------------------------------------------------
const byteOf = (offset, bits) => Math.floor((offset * bits) / 8);
const bankOf = (offset, bits) => mod(Math.floor((offset * bits) / 32), 32);

// The number of words that each bank serves if lane i reads offsets[i]. Elements wider than 4 bytes
// are served in groups of lanes that together need 128 bytes; the result is for the worst group.
function wordsOfBanks(offsets, bits) {
  const lanes = Math.max(Math.min(32, Math.floor(1024 / bits)), 1);
  const each = Math.max(Math.floor(bits / 32), 1);
  let worst = null, most = -1;
  for (let start = 0; start < offsets.length; start += lanes) {
    const words = new Set();
    for (const offset of offsets.slice(start, start + lanes)) {
      for (let k = 0; k < each; k++) words.add(Math.floor((offset * bits) / 32) + k);
    }
    const counts = Array(32).fill(0);
    for (const word of words) counts[mod(word, 32)]++;
    if (Math.max(...counts) > most) [worst, most] = [counts, Math.max(...counts)];
  }
  return worst;
}

// The maximum number of words per bank that a group of lanes needs, if lane i of the warps reads
// offsets[i].
function conflictWays(offsets, bits) {
  let worst = 1;
  for (let i = 0; i < offsets.length; i += 32) {
    worst = Math.max(worst, ...wordsOfBanks(offsets.slice(i, i + 32), bits));
  }
  return worst;
}

// The page's operations: name -> function of the layout and of the value of the second field.
const OPERATIONS = {
  "": (a) => a,
  coalesce: (a, b) => coalesce(a, b),
  composition: (a, b) => composition(a, b),
  complement: (a, b) => complement(a, b ?? 1),
  logical_divide: logicalDivide,
  zipped_divide: zippedDivide,
  tiled_divide: opened(zippedDivide, false),
  flat_divide: opened(zippedDivide, true),
  logical_product: logicalProduct,
  zipped_product: productBy("zipped_product", logicalProduct),
  tiled_product: opened(productBy("tiled_product", logicalProduct), false),
  flat_product: opened(productBy("flat_product", logicalProduct), true),
  blocked_product: blockedProduct,
  raked_product: rakedProduct,
  right_inverse: rightInverse,
  left_inverse: leftInverse,
  make_layout_tv: (a, b) => makeLayoutTV(a, asWhole(b))[1],
  swizzle: (a, b) => makeComposed(b, 0, a),
  slice: (a, b) => slice(a, b)[0],
};
