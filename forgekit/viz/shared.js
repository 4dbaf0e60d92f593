// Functions that the scripts of pictures share: elements and payloads.
const FK_SVG = "http://www.w3.org/2000/svg";
function fkNode(tag, attributes = {}, ...kids) {
  const svg = ["svg", "g", "rect", "text", "path"].includes(tag);
  const node = svg ? document.createElementNS(FK_SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...kids);
  return node;
}

// Unpacks a payload that page.py packed: converts runs [first, step, count, ...] to lists.
function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if (!value.runs) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unpacked(entry)]));
  }
  const list = [];
  for (let k = 0; k < value.runs.length; k += 3) {
    const [first, step, count] = value.runs.slice(k, k + 3);
    for (let i = 0; i < count; i++) list.push(first + i * step);
  }
  return list;
}
