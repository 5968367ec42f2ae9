// The page of one object: draws its document, and reads it again while somebody looks.

import { Cells, PORTS, SLOTS, legend, onNewLook } from "./cells.js";
import { addressOf, base, element, link, replaceInPlace, setText, table } from "./dom.js";
import { showLog } from "./log.js";

const EVERY = 2000; // ms
const MARKS = ["\u2501\u2501", "\u2501\u2501", "\u254d\u254d", "\u2504\u2504"]; // as the lines are drawn
const STATES = { ports: PORTS, slots: SLOTS };
const SVG = "http://www.w3.org/2000/svg";
const place = document.getElementById("document");
const live = document.getElementById("live");
const said = document.getElementById("said");
const problems = document.getElementById("problems");
const sections = new Map(); // name -> its place, and what it shows
let pictures = []; // the cells that are shown, and their groups
let last = null; // the document that is shown
let read = 0;

function cell(value) {
  return typeof value === "string" ? value : link(value.path, value.text);
}

function facts(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs) {
    list.append(element("dt", {}, name || "\u00b7"), element("dd", {}, cell(value)));
  }
  return list;
}

function text(part) {
  const title = element("h2", {}, part.title);
  return element("section", {}, title, element("pre", { tabindex: "0", "data-text": part.title }, part.text));
}

async function decide(verb, body, button) {
  button.disabled = true;
  setText(said, "Sending…");
  try {
    const answer = await fetch(addressOf(place.dataset.source.replace(`${base}/data/job/`, `${base}/${verb}/`)), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const reply = await answer.json();
    setText(said, answer.ok ? `The fleet was asked to ${verb} the job.` : `Refused: ${reply.problem}`);
  } catch {
    setText(said, "The server does not answer: nothing was sent, or nobody knows.");
  }
  sections.get("actions").shown = ""; // draw the buttons anew
  await load();
}

function actions({ confirm, cancel }, job) {
  const parts = [];
  if (confirm) {
    const button = element("button", { type: "button", class: "btn btn-primary", id: "confirm" }, "Confirm");
    button.addEventListener("click", () => decide("confirm", { job, plan: confirm }, button));
    parts.push(button, element("span", {}, `plan ${confirm}`));
  }
  if (cancel) {
    const button = element("button", { type: "button", class: "btn btn-outline-danger", id: "cancel" }, "Cancel");
    button.addEventListener("click", () => {
      if (window.confirm("Cancel this job?")) decide("cancel", { job }, button);
    });
    parts.push(button);
  }
  return parts.length ? [element("div", { class: "fleet-actions" }, ...parts)] : [];
}

function shape(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Lines over time. `chart`: label, names of the lines, and points [time in s, a value a line, what was decided].
function drawing(chart) {
  const [width, height] = [960, 200];
  const times = chart.points.map(([at]) => at);
  const most = Math.max(1, ...chart.points.flatMap((point) => point[1]));
  const [first, last] = [Math.min(...times), Math.max(chart.until, ...times)];
  const x = (at) => (last === first ? 0 : ((at - first) / (last - first)) * width);
  const y = (value) => height - 4 - (value / most) * (height - 8);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, class: "fleet-chart", role: "img", "aria-label": chart.label });
  chart.lines.forEach((name, at) => {
    let path = "";
    chart.points.forEach(([time, values], number) => {
      path += number ? `H${x(time)}V${y(values[at])}` : `M${x(time)} ${y(values[at])}`;
    });
    path += `H${width}`;
    svg.append(shape("path", { d: path, class: `fleet-line-${at}` }, shape("title", {}, name)));
  });
  for (const [time, values, decided] of chart.points) {
    if (decided) {
      const mark = shape("circle", { cx: x(time), cy: y(values[0]), r: 4, class: "fleet-mark" });
      mark.append(shape("title", {}, `${new Date(time * 1000).toLocaleString()}: ${decided}`));
      svg.append(mark);
    }
  }
  const names = chart.lines.map((name, at) => element("li", { class: `fleet-key-${at}` }, `${MARKS[at]} ${name}`));
  const range = `${new Date(first * 1000).toLocaleString()} to ${new Date(last * 1000).toLocaleString()}, 0 to ${most}`;
  return element("section", {}, element("h2", {}, chart.label), svg, element("p", {}, range), element("ul", { class: "fleet-legend" }, ...names));
}

// Cells that say who holds them, and lead there. The tables of the page say the same. `part.held`: [cell, words, path].
function strip(part) {
  const cells = new Cells(STATES[part.kind], part.label);
  const held = new Map(part.held.map(([cell_, words, path]) => [cell_, { words, path }]));
  cells.canvas.addEventListener("mousemove", (event) => {
    cells.canvas.title = held.get(cells.cellAt(event))?.words ?? "";
  });
  cells.canvas.addEventListener("click", (event) => {
    const holder = held.get(cells.cellAt(event));
    if (holder) location.assign(base + holder.path);
  });
  pictures.push([cells, part.groups]);
  const label = element("span", {}, part.path ? link(part.path, part.label) : part.label);
  return element("div", { class: "fleet-strip" }, label, element("div", {}, cells.canvas));
}

function strips(parts) {
  pictures = [];
  if (!parts.length) return [];
  const signs = element("ul", { class: "fleet-legend", "aria-label": "Signs" });
  legend(signs, STATES[parts[0].kind]);
  return [signs, ...parts.map(strip)];
}

function paint() {
  for (const [cells, groups] of pictures) cells.set(groups);
}

// Draws a part of the page anew if it has changed, so that nothing else loses its place.
function section(name, content, parts, then = () => {}) {
  if (!sections.has(name)) {
    sections.set(name, { node: element("div"), shown: "" });
    place.append(sections.get(name).node);
  }
  const part = sections.get(name);
  const text_ = JSON.stringify(content);
  if (part.shown === text_) return;
  replaceInPlace(part.node, ...parts());
  part.shown = text_;
  then();
}

function draw(page) {
  last = page;
  setText(document.getElementById("title"), page.title);
  section("facts", page.facts, () => [facts(page.facts)]);
  section("chart", page.chart, () => (page.chart ? [drawing(page.chart)] : []));
  section("strips", page.strips, () => strips(page.strips), paint);
  section("texts", page.texts, () => page.texts.map(text));
  section("actions", page.actions, () => actions(page.actions, page.title.replace(/^Job /, "")));
  const tables = page.tables.filter((part) => part.rows.length);
  section("tables", tables, () =>
    tables.map((part) => table(part.caption, part.columns, part.rows.map((row) => row.map(cell)))),
  );
}

function lost(why) {
  live.dataset.state = "lost";
  setText(live, `Not live: ${why}${read ? `, as of ${new Date(read).toLocaleTimeString()}` : ""}`);
}

// The server answers: there is no such object.
function absent(problem) {
  const shown = read ? `. Below is what was there at ${new Date(read).toLocaleTimeString()}` : "";
  problems.replaceChildren(element("p", { class: "fleet-problem" }, problem[0].toUpperCase() + problem.slice(1) + shown + "."));
  live.dataset.state = "live";
  setText(live, "Live");
}

async function load() {
  try {
    const answer = await fetch(addressOf(place.dataset.source), { cache: "no-store" });
    if (answer.redirected) location.reload(); // to log in again
    const body = await answer.text();
    if (!answer.ok) {
      const { problem } = JSON.parse(body);
      if (answer.status === 404) {
        absent(problem);
      } else {
        lost(problem);
      }
      return;
    }
    problems.replaceChildren();
    draw(JSON.parse(body));
    read = Date.now();
    live.dataset.state = "live";
    setText(live, "Live");
  } catch {
    lost("the server does not answer");
  }
}

onNewLook(() => {
  if (sections.has("strips")) sections.get("strips").shown = ""; // its signs have colours, too
  if (last) draw(last);
});

if (place.dataset.document) {
  live.hidden = true;
  draw(JSON.parse(place.dataset.document));
} else {
  await load();
  setInterval(() => {
    if (!document.hidden) load();
  }, EVERY);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) load();
  });
  if (place.dataset.source.startsWith(`${base}/data/job/`)) {
    showLog(place, place.dataset.source.replace(`${base}/data/job/`, `${base}/log/`));
  }
}
