"use strict";
for (const grid of document.querySelectorAll(".searchable")) {
  const rows = [...grid.querySelectorAll("tbody tr")];
  const label = document.createElement("label");
  const field = document.createElement("input");
  const found = document.createElement("span");
  label.className = "search";
  label.textContent = "Search: ";
  field.type = "search";
  found.setAttribute("aria-live", "polite");
  label.append(field, found);
  grid.prepend(label);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += row.hidden ? 0 : 1;
    }
    found.textContent = field.value ? ` ${count} of ${rows.length}` : "";
  });
}
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const part of closed) part.open = true;
});
window.addEventListener("afterprint", () => {
  for (const part of closed) part.open = false;
});
