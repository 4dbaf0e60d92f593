// What the explorer computes in the page: coordinates, banks, conflicts. tests/viz/test_explorer.py
// compares each of these with forgekit.layouts and forgekit.viz.layouts.swizzle.
const mod = (a, n) => ((a % n) + n) % n;
const flat = (x) => (Array.isArray(x) ? x.flatMap(flat) : [x]);
const product = (x) => flat(x).reduce((a, b) => a * b, 1);

// A coordinate as CuTe writes it: (1,(0,1)).
const shown = (c) => (Array.isArray(c) ? "(" + c.map(shown).join(",") + ")" : String(c));

// The nested coordinate of a linear index, leftmost mode fastest.
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

const byteOf = (offset, bits) => Math.floor((offset * bits) / 8);
const bankOf = (offset, bits) => mod(Math.floor((offset * bits) / 32), 32);

// The offsets of a tile whose rows are padded by `pad` elements, or that is swizzled.
function offsetsWith(d, pad, choice) {
  const lab = d.lab, more = pad - lab.padding;
  return (lab.plain || d.offsets).map((offset, index) => {
    if (lab.pad_mode !== null) {
      const rows = product(d.shape[0]);
      offset += more * (lab.pad_mode === 0 ? index % rows : Math.floor(index / rows));
    }
    return swizzled(offset + lab.start, lab.swizzles[choice]);
  });
}

// Words that each bank has to serve when lane i reads offsets[i]. Elements wider than 4 bytes are
// served in groups of lanes that need 128 bytes together; the worst group counts.
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
