// Adds support for keyboards and screen readers that the theme lacks.
"use strict";

// Boxes that scroll horizontally can receive the focus, so that the arrow keys scroll them.
const SCROLLING = ".bd-article pre, .cell_output, .math, .pst-scrollable-table-container, .wide";

function reachable() {
  for (const box of document.querySelectorAll(SCROLLING)) {
    const hidden = getComputedStyle(box).overflowX;
    if (box.scrollWidth > box.clientWidth + 1 && hidden !== "visible") box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// A button's accessible name is its visible text, or hidden text next to its icon.
function named() {
  for (const button of document.querySelectorAll(".search-button-field")) {
    button.removeAttribute("aria-label");
  }
  for (const button of document.querySelectorAll(".theme-switch-button")) {
    const words = document.createElement("span");
    words.className = "visually-hidden";
    words.textContent = button.getAttribute("aria-label");
    button.removeAttribute("aria-label");
    button.append(words);
    for (const icon of button.querySelectorAll("i")) icon.setAttribute("aria-hidden", "true");
  }
  for (const fold of document.querySelectorAll(".bd-links summary")) {
    fold.setAttribute("aria-label", `Pages of ${fold.closest("li").querySelector("a").textContent}`);
  }
}

// Predictions stay in this browser. An opened output shows the reader's predictions for it.
function predicting() {
  const kept = (input) => `forge:${location.pathname}:${input.dataset.asks}`;
  const inputs = [...document.querySelectorAll(".predict input")];
  const stops = [...document.querySelectorAll(".predict input, details.hide > summary")];
  for (const input of inputs) {
    try { input.value = localStorage.getItem(kept(input)) ?? ""; } catch { /* no storage: nothing is kept */ }
    input.addEventListener("input", () => {
      try { localStorage.setItem(kept(input), input.value); } catch { /* no storage: nothing is kept */ }
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // the key would also open the newly focused element
      stops[stops.indexOf(input) + 1]?.focus();
    });
  }
  for (const fold of document.querySelectorAll("details.hide")) {
    fold.addEventListener("toggle", () => fold.open && compared(fold, inputs, stops));
  }
}

// The line above an opened output, with one entry for each question that precedes the output.
function compared(fold, inputs, stops) {
  const at = stops.indexOf(fold.querySelector("summary"));
  let first = at;
  while (first > 0 && stops[first - 1].tagName === "INPUT") first--;
  const said = inputs.filter((input) => input.value.trim()).map((input) => {
    const answer = answerIn(fold, input.dataset.asks), near = stops.indexOf(input);
    if (answer === undefined && (near < first || near > at)) return "";
    const words = `${input.dataset.asks}: you predicted ${input.value.trim()}`;
    if (answer === undefined) return words;
    const plain = (value) => value.toLowerCase().replace(/[\s,]/g, "");
    return `${words}, it is ${answer}${plain(answer) === plain(input.value) ? " ✓" : ""}`;
  }).filter(Boolean);
  fold.querySelector(".predicted")?.remove();
  if (!said.length) return;
  const line = document.createElement("p");
  line.className = "predicted";
  line.textContent = said.join("; ");
  fold.querySelector("summary").after(line);
}

function answerIn(fold, question) {
  const start = `${question}: nothing written down; it is `;
  const line = fold.textContent.split("\n").find((words) => words.includes(start));
  if (line) return line.slice(line.indexOf(start) + start.length).trim();
  const row = [...fold.querySelectorAll("tr")].find((r) => r.cells[0]?.textContent.trim() === question);
  return row?.cells[2]?.textContent.trim() || undefined;
}

// The glossary's filter hides terms without the word, and letters without terms.
function filtering() {
  const field = document.getElementById("filter");
  if (!field) return;
  const letters = [...document.querySelectorAll("article section section:has(> h2)")];
  field.addEventListener("input", () => {
    const word = field.value.trim().toLowerCase();
    let count = 0;
    for (const letter of letters) {
      let shown = 0;
      for (const term of letter.querySelectorAll("section")) {
        term.hidden = !term.textContent.toLowerCase().includes(word);
        shown += !term.hidden;
      }
      letter.hidden = !shown;
      count += shown;
    }
    field.parentNode.querySelector("[role=status]").textContent = word ? `${count} terms` : "";
  });
}

window.addEventListener("DOMContentLoaded", filtering);
window.addEventListener("DOMContentLoaded", named);
window.addEventListener("DOMContentLoaded", predicting);
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);

// A search finds words in the page's text, not in its table of contents; a section whose title
// matches comes before pages that contain the words.
document.addEventListener("DOMContentLoaded", () => { // before the search itself starts
  if (typeof Search === "undefined") return;
  const ofPage = Search.htmlToText;
  Search.htmlToText = (page, anchor) => {
    const text = new DOMParser().parseFromString(page, "text/html");
    for (const frame of text.querySelectorAll(".bd-sidebar-secondary, .bd-header-article, .onlyprint, .letters, .filter")) frame.remove();
    return ofPage(text.documentElement.outerHTML, anchor);
  };
  Scorer.score = ([, , anchor, , score]) => (anchor ? score + 20 : score);
});
