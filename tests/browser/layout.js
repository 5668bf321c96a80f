// What a reader of a page would stumble over, as JSON. Rectangles of text are as high as a font, which may be more than a
// line: the middle half of them is compared. A word may be broken at a hyphen, or where it is longer than words are.
(() => {
  const told = {outside: [], clipped: [], broken: [], overlaps: [], small: []};
  const room = document.documentElement.clientWidth;
  const unseen = (part) =>
    part.closest(".unseen, svg, script, style, noscript") || !part.checkVisibility() || hidden(part.closest("thead"));
  const hidden = (part) => part && getComputedStyle(part).clipPath !== "none";
  const describe = (part) => part.outerHTML.slice(0, 160);
  const pieces = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement, range = document.createRange();
    if (!node.data.trim() || unseen(part)) continue;
    if (parseFloat(getComputedStyle(part).fontSize) < 11) told.small.push(describe(part));
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      pieces.push({top: box.top + box.height / 4, bottom: box.bottom - box.height / 4, box, part});
    }
    for (const word of node.data.matchAll(/(?<!\S)\p{L}{2,16}(?!\S)/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) told.broken.push([word[0], describe(part)]);
    }
  }
  pieces.sort((a, b) => a.top - b.top);
  pieces.forEach((a, i) => {
    for (let j = i + 1; j < pieces.length && pieces[j].top < a.bottom; j++) {
      const b = pieces[j], scrolls = a.part.closest(".region, nav") !== b.part.closest(".region, nav");
      if (!scrolls && Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 1) {
        told.overlaps.push([describe(a.part), describe(b.part)]);
      }
    }
  });
  for (const part of document.body.querySelectorAll("*")) {
    if (unseen(part)) continue;
    const inside = part.closest(".region");
    if (part.getBoundingClientRect().right > room + 1 && !inside) told.outside.push(describe(part));
    const cut = /hidden|clip/.test(getComputedStyle(part).overflowX) && part.scrollWidth > part.clientWidth + 1;
    if (cut && !part.matches(".region, nav")) told.clipped.push(describe(part));
  }
  const asked = performance.getEntriesByType("resource").map((entry) => entry.name);
  return JSON.stringify({...told, asked, wide: document.documentElement.scrollWidth - room, texts: pieces.length});
})()
