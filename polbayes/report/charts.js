"use strict";
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const [LETTER, SYMBOL] = [6.8, 34];
const theme = (width, longest) => {
  const [ink, soft, faint] = [colour("--ink"), colour("--soft"), colour("--line")];
  const words = { labelColor: ink, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
  const names = Math.max(90, Math.min(380, 0.4 * width));
  // A legend begins where the rows' names end.
  const room = width - Math.min(names, LETTER * longest.row) - 10;
  const columns = Math.floor(room / (LETTER * longest.series + SYMBOL));
  return {
    background: null,
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    mark: { color: colour("--link") },
    rule: { color: colour("--link") },
    text: { color: ink, fontSize: 12 },
    axis: { ...words, gridColor: faint, domainColor: soft, tickColor: soft, labelLimit: 180, labelOverlap: false },
    axisY: { labelLimit: names },
    axisQuantitative: { labelOverlap: true },
    axisXQuantitative: { tickCount: Math.max(4, Math.min(10, Math.round(width / 90))) },
    legend: {
      ...words,
      labelLimit: 240,
      columns: Math.max(1, Math.min(3, columns)),
      gradientLength: Math.min(200, width - names - 20),
    },
  };
};
const nothing = () => Promise.reject(new Error("A report loads nothing."));
const loader = { load: nothing, sanitize: nothing, http: nothing, file: nothing };
const logger = vega.logger(vega.Error);

const hint = document.createElement("div");
hint.className = "hint";
hint.hidden = true;
document.body.append(hint);
const showHint = (handler, event, item, value) => {
  hint.hidden = value === null || value === undefined || value === "";
  if (hint.hidden) return;
  const lines = Object.entries(Object(value) === value ? value : { "": value });
  hint.replaceChildren(
    ...lines
      .filter(([, told]) => !["", "null", "undefined", "NaN"].includes(String(told)))
      .map(([name, told]) => {
        const line = document.createElement("p");
        const bold = document.createElement("strong");
        bold.textContent = `${name} `;
        line.append(bold, String(told));
        return line;
      }),
  );
  const { clientWidth, clientHeight } = document.documentElement;
  hint.style.left = `${Math.max(4, Math.min(event.clientX + 14, clientWidth - hint.offsetWidth - 8))}px`;
  const below = event.clientY + 16;
  const fits = below + hint.offsetHeight < clientHeight;
  hint.style.top = `${fits ? below : Math.max(4, event.clientY - hint.offsetHeight - 10)}px`;
};

const answers = document.querySelector("#answers");
const show = (event, item) => {
  const { model, item: statement, prefix } = item?.datum ?? {};
  if (!answers || !(model || statement)) return;
  hint.hidden = true;
  document.dispatchEvent(new CustomEvent("answers", { detail: { model, item: statement, prefix } }));
};

// The page has the rows of a chart by column and each text once.
const rows = ({ count, numbers, texts }) => {
  const fields = [
    ...Object.entries(numbers).map(([field, column]) => [field, (k) => column[k]]),
    ...Object.entries(texts).map(([field, column]) => [field, (k) => column.texts[column.at[k]]]),
  ];
  const row = (_, k) => Object.fromEntries(fields.map(([field, at]) => [field, at(k)]));
  return Array.from({ length: count }, row);
};

const views = new Map();
const draw = async (figure) => {
  const { data, ...chart } = JSON.parse(figure.querySelector("script").textContent);
  const spec = { ...chart, data: { values: rows(data) } };
  const [frame, holder] = [figure.querySelector(".chart-frame"), figure.querySelector(".chart")];
  const before = views.get(figure);
  const kept = before?.getState({ signals: (name) => (spec.params ?? []).some((p) => p.name === name) }).signals;
  before?.finalize();
  holder.replaceChildren();
  figure.querySelector(".controls").replaceChildren();
  figure.classList.add("drawn");
  const least = (spec.usermeta?.columns ?? 0) * 15 + Math.min(400, 0.45 * frame.clientWidth);
  holder.style.minWidth = `${least}px`;
  const config = theme(frame.clientWidth, spec.usermeta?.longest ?? { row: 0, series: 0 });
  const { spec: compiled } = vegaLite.compile({ width: "container", ...spec }, { config, logger });
  const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
    expr: vegaInterpreter.expressionInterpreter,
    loader,
    logger,
    renderer: "svg",
    hover: true,
    tooltip: showHint,
  });
  views.set(figure, view);
  view.initialize(holder, figure.querySelector(".controls"));
  for (const [name, value] of Object.entries(kept ?? {})) view.signal(name, value);
  view.addEventListener("click", show);
  await view.runAsync();
  // Names above columns, at an angle, need more room the narrower these become to make it.
  for (let k = 0; spec.usermeta?.columns && k < 3; k++) await view.resize().runAsync();
};

const figures = [...document.querySelectorAll("figure:has(.chart)")];
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      draw(target).catch(() => target.classList.remove("drawn"));
    }
  },
  { rootMargin: "800px" },
);
for (const figure of figures) watcher.observe(figure);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const figure of views.keys()) draw(figure);
});
