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
const valueOf = (row, at) => {
  const text = row.cells[at].textContent.trim();
  const found = text.replace(/\u2212/g, "-").replace(/[\s\u2009\u00a0%<>[]/g, "").match(/^-?[\d.]+/);
  return found ? Number(found[0]) : NaN;
};
const compared = (at, numeric) => (a, b) => {
  if (!numeric) return a.cells[at].textContent.localeCompare(b.cells[at].textContent);
  const [x, y] = [valueOf(a, at), valueOf(b, at)];
  return Number.isNaN(x) - Number.isNaN(y) || x - y || 0;
};
for (const header of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = header.closest("table").tBodies[0];
    const numeric = header.classList.contains("number");
    const rows = [...body.rows].sort(compared(header.cellIndex, numeric));
    body.append(...(up ? rows : rows.reverse()));
  });
}
