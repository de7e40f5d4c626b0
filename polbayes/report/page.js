"use strict";
const NOT_NUMBERS = /[\s\u2009\u00a0%<>[]/g;
const textOf = (cell) => (cell.querySelector("pre") ?? cell).textContent.trim();
const valueOf = (cell) => {
  const found = textOf(cell).replace(/\u2212/g, "-").replace(NOT_NUMBERS, "").match(/^-?[\d.]+/);
  return found ? Number(found[0]) : NaN;
};
const compared = (at, numeric) => (a, b) => {
  if (!numeric) return textOf(a.cells[at]).localeCompare(textOf(b.cells[at]));
  const [x, y] = [valueOf(a.cells[at]), valueOf(b.cells[at])];
  return Number.isNaN(x) - Number.isNaN(y) || x - y || 0;
};

// The rule of polbayes.data.spreadsheets, with its signs.
const signs = document.querySelector("main").dataset.signs;
const begins = new RegExp(`^(?:[\\t\\r\\n';|]|[\\s\\x00-\\x1f\\x7f-\\x9f\\ufeff]*[${signs}])`);
const within = new RegExp(`([;,|\\t\\r\\n])(\\u2060*)(?=[${signs}])`, "g");
const defused = (text) => {
  const plain = text.replace(/^\u2212(?=[\d.]+$)/, "-");
  if (plain !== "" && !Number.isNaN(Number(plain))) return plain;
  const joined = text.replace(within, "$1\u2060$2");
  return begins.test(joined) ? `'${joined}` : joined;
};
const csvOf = (rows) =>
  rows.map((row) => [...row.cells].map((c) => `"${defused(textOf(c)).replace(/"/g, '""')}"`).join(","))
    .join("\r\n");

const element = (name, content, kind = "") => {
  const made = document.createElement(name);
  made.textContent = content;
  made.className = kind;
  return made;
};
const labelled = (content, field) => {
  const label = element("label", content);
  label.append(field);
  return label;
};

// How to read a section would fill the screen before the section is seen.
const readings = document.querySelectorAll("details.reading");
for (const one of readings) one.open = false;
addEventListener("beforeprint", () => {
  for (const one of readings) one.open = true;
});

// What is taller than most of the screen scrolls until the reader asks for all of it.
for (const frame of document.querySelectorAll(".chart-frame, .scroll")) {
  const button = element("button", "Show all of it", "all");
  button.type = "button";
  button.hidden = true;
  button.addEventListener("click", () => {
    frame.style.maxHeight = "none";
    button.remove();
  });
  frame.after(button);
  new ResizeObserver(() => {
    frame.classList.toggle("tall", frame.scrollHeight > 0.75 * innerHeight + 1);
    button.hidden = frame.scrollHeight <= frame.clientHeight + 1;
  }).observe(frame.firstElementChild);
}

for (const grid of document.querySelectorAll(".grid")) {
  const table = grid.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const tools = element("div", "", "tools");
  const found = element("span", "");
  const field = element("input", "");
  const lists = [];
  field.type = "search";
  found.setAttribute("aria-live", "polite");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const chosen = lists.every(({ at, list }) => !list.value || textOf(row.cells[at]) === list.value);
      const text = chosen ? row.textContent.toLowerCase() : "";
      row.hidden = !(chosen && words.every((word) => text.includes(word)));
      count += row.hidden ? 0 : 1;
    }
    found.textContent = count < rows.length ? ` ${count} of ${rows.length} rows` : "";
  };
  for (const header of table.querySelectorAll("thead th[data-filter]")) {
    const at = header.cellIndex;
    const list = element("select", "");
    const values = [...new Set(rows.map((row) => textOf(row.cells[at])))];
    list.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    lists.push({ at, list, name: header.dataset.filter });
    list.addEventListener("change", filter);
    if (values.length > 1) tools.append(labelled(`${header.textContent} `, list));
  }
  if (rows.length > 8 || grid.classList.contains("searchable")) {
    tools.append(labelled("Search ", field), found);
    field.addEventListener("input", filter);
  }
  const button = element("button", "CSV of the rows shown");
  button.type = "button";
  button.addEventListener("click", () => {
    const shown = [table.tHead.rows[0], ...[...table.tBodies[0].rows].filter((row) => !row.hidden)];
    const link = element("a", "");
    link.href = URL.createObjectURL(new Blob([csvOf(shown)], { type: "text/csv" }));
    link.download = `${grid.dataset.csv}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  tools.append(button);
  grid.prepend(tools);
  if (grid.id === "answers") {
    document.addEventListener("answers", ({ detail }) => {
      for (const { list, name } of lists) {
        list.value = detail[name] ?? "";
        if (list.selectedIndex < 0) list.value = "";
      }
      field.value = "";
      filter();
      for (let at = grid; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
      grid.scrollIntoView();
      grid.querySelector(".scroll").focus({ preventScroll: true });
    });
  }
}

for (const header of document.querySelectorAll("thead th")) {
  const button = element("button", "");
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
