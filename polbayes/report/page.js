"use strict";
const NOT_NUMBERS = /[\s\u2009\u202f\u00a0%<>[]/g;
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
  const note = element("p", "", "instead");
  field.type = "search";
  for (const told of [found, note]) told.setAttribute("aria-live", "polite");
  const filter = () => {
    note.textContent = "";
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
    lists.push({ at, list, name: header.dataset.filter, title: header.textContent.toLowerCase() });
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
    tools.after(note);
    document.addEventListener("answers", ({ detail }) => {
      const asked = lists.filter(({ name }) => detail[name]);
      const fits = (row) => ({ at, name }) => textOf(row.cells[at]) === detail[name];
      // Where the table has none of a point's answers, it shows those nearest to it.
      let kept = asked;
      for (const less of ["prefix", "item", "model"]) {
        if (rows.some((row) => kept.every(fits(row)))) break;
        kept = kept.filter(({ name }) => name !== less);
      }
      for (const one of lists) one.list.value = kept.includes(one) ? detail[one.name] : "";
      field.value = "";
      filter();
      if (kept.length < asked.length) {
        const wanted = asked.map(({ name, title }) => `${title} ${detail[name]}`);
        const shown = asked.map((one, k) => (kept.includes(one) ? wanted[k] : `any ${one.title}`));
        const missing = "sample" in grid.dataset ? "Not in this sample" : "Without answers";
        note.textContent = `${missing}: ${wanted.join(", ")}. Shown instead: ${shown.join(", ")}.`;
      }
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
