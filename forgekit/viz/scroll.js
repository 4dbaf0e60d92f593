// A box that is wider than its page scrolls, also with keys. Its edge fades while there is more to
// see.
function fkScroll(box) {
  const update = () => {
    const rest = box.scrollWidth - box.clientWidth;
    if (rest > 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    const more = rest - box.scrollLeft > 2;
    box.style.maskImage = more ? "linear-gradient(90deg,#000 calc(100% - 40px),#0002)" : "";
  };
  box.addEventListener("scroll", update);
  new ResizeObserver(update).observe(box);
}
