// What the theme leaves to be done for the keyboard and for those who hear the page.
"use strict";

// What scrolls sideways can be reached, and then scrolled with the arrow keys.
const SCROLLING = ".bd-article pre, .cell_output, .math, .pst-scrollable-table-container, .wide";

function reachable() {
  for (const box of document.querySelectorAll(SCROLLING)) {
    const hidden = getComputedStyle(box).overflowX;
    if (box.scrollWidth > box.clientWidth + 1 && hidden !== "visible") box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// A button is called what stands on it, or beside its icon for those who hear the page.
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
}

// In the layout explorer the numbers along the edges are no part of the grid of cells.
function gridded() {
  for (const svg of document.querySelectorAll("svg[role=grid]")) {
    const grid = svg.querySelector("[role=row]")?.parentElement;
    if (!grid || grid === svg) continue;
    for (const name of svg.getAttributeNames()) {
      if (name !== "role" && !name.startsWith("aria-")) continue;
      grid.setAttribute(name, svg.getAttribute(name));
      svg.removeAttribute(name);
    }
  }
}

window.addEventListener("DOMContentLoaded", named);
window.addEventListener("load", gridded);
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);
