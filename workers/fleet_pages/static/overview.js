// The overview: what the board says, drawn anew for what has changed.

import { Cells, PORTS, SLOTS, counts, legend, onNewLook } from "./cells.js";
import { element, link, pathOf, quantity, replaceInPlace, setText, table } from "./dom.js";
import { follow } from "./live.js";

const rows = new Map();
const pools = new Map(); // id of a pool's row -> its part of the page
const byId = (id) => document.getElementById(id);

function rowsOf(prefix) {
  return [...rows.keys()].filter((id) => id.startsWith(prefix)).sort();
}

function lastPart(id, prefix) {
  return id.slice(prefix.length);
}

class PoolPart {
  constructor(id, name) {
    this.id = id;
    this.name = name;
    this.facts = element("p", { class: "fleet-facts" });
    this.strips = element("div", { class: "fleet-strips" });
    this.listed = element("div");
    this.details = element("details", {}, element("summary", {}, `Table of ${name}`), this.listed);
    this.details.addEventListener("toggle", () => this.list());
    const title = element("h3", {}, link(pathOf(id), name));
    this.node = element("article", { class: "fleet-pool", "data-row": id }, title, this.facts, this.strips, this.details);
  }

  list() {
    if (this.details.open) replaceInPlace(this.listed, this.table());
    else this.listed.replaceChildren();
  }
}

class PortPoolPart extends PoolPart {
  constructor(id, name) {
    super(id, name);
    this.cells = new Map();
  }

  update() {
    const pool = rows.get(this.id);
    const parts = [pool.state, `${pool.allocated} of ${pool.capacity} ports in use`, `${pool.free} free`];
    parts.push(pool.waiting ? `${quantity(pool.waiting, "pod waits", "pods wait")} for ${quantity(pool.demand, "port")}` : "nobody waits");
    if (pool.growing) parts.push("load balancers are being created");
    if (pool.problem) parts.push(pool.problem);
    setText(this.facts, parts.join(" · "));
    const prefix = `lb/${this.name}/`;
    const present = rowsOf(prefix);
    for (const [id, part] of this.cells) {
      if (!present.includes(id)) {
        part.node.remove();
        this.cells.delete(id);
      }
    }
    for (const id of present) {
      const { cells, stage } = rows.get(id);
      let part = this.cells.get(id);
      if (!part) {
        const name = lastPart(id, prefix);
        part = { cells: new Cells(PORTS, name), stage: element("span"), shown: null };
        const label = element("span", {}, link(pathOf(id), name), part.stage);
        part.node = element("div", { class: "fleet-strip", "data-row": id }, label, element("div", {}, part.cells.canvas));
        this.strips.append(part.node);
        this.cells.set(id, part);
      }
      setText(part.stage, stage === "giving" ? "" : ` (${stage})`);
      if (part.shown !== cells) part.cells.set([cells]);
      part.shown = cells;
    }
    this.list();
  }

  paint() {
    for (const part of this.cells.values()) part.cells.paint();
  }

  table() {
    const prefix = `lb/${this.name}/`;
    const lines = rowsOf(prefix).map((id) => [lastPart(id, prefix), rows.get(id).stage, counts(rows.get(id).cells, PORTS)]);
    return table(`Load balancers of ${this.name}`, ["load balancer", "state", "ports"], lines);
  }
}

class PodPoolPart extends PoolPart {
  constructor(id, name) {
    super(id, name);
    this.cells = new Cells(SLOTS, `Slots of ${name}`);
    this.strips.append(element("div", {}, this.cells.canvas));
    this.cells.canvas.addEventListener("click", (event) => {
      const at = this.cells.groupAt(event);
      if (at >= 0) location.assign(link(pathOf("pod", this.namespace, this.pods[at][0]), "").href);
    });
    this.namespace = name.split("/")[0];
    this.pods = [];
  }

  update() {
    const pool = rows.get(this.id);
    this.pods = rowsOf(`pod/${this.name}/`).map((id) => rows.get(id));
    this.pods.sort(([one], [other]) => (one < other ? -1 : 1));
    const parts = [pool.size === null ? "no size yet" : `${quantity(pool.size, "pod")} wanted`, quantity(this.pods.length, "reports", "report")];
    if (pool.booting) parts.push(`${pool.booting} boot`);
    if (pool.waiting) parts.push(quantity(pool.waiting, "job waits", "jobs wait"));
    parts.push(counts(this.pods.map(([, cells]) => cells).join(""), SLOTS), pool.reason);
    setText(this.facts, parts.join(" · "));
    const groups = this.pods.map(([, cells]) => cells);
    if (groups.join(" ") !== this.shown) this.cells.set(groups);
    this.shown = groups.join(" ");
    this.list();
  }

  paint() {
    this.cells.paint();
  }

  table() {
    const lines = this.pods.map(([name, cells]) => [link(pathOf("pod", this.namespace, name), name), counts(cells, SLOTS)]);
    return table(`Pods of ${this.name}`, ["pod", "slots"], lines);
  }
}

function updatePools(prefix, parent, Part, concerned) {
  const present = rowsOf(prefix);
  for (const [id, part] of pools) {
    if (id.startsWith(prefix) && !rows.has(id)) {
      part.node.remove();
      pools.delete(id);
    }
  }
  for (const id of present) {
    if (!pools.has(id)) {
      const part = new Part(id, lastPart(id, prefix));
      pools.set(id, part);
      parent.append(part.node);
      concerned.add(id);
    }
    if (concerned.has(id)) pools.get(id).update();
  }
  parent.classList.toggle("fleet-none", present.length === 0);
}

// The pool whose part shows the row.
function poolOf(id) {
  const [kind, ...parts] = id.split("/");
  if (kind === "lb") return `portpool/${parts[0]}`;
  if (kind === "pod") return `podpool/${parts[0]}/${parts[1]}`;
  return id;
}

function claims() {
  const lines = rowsOf("claims/").flatMap((id) =>
    Object.entries(rows.get(id)).map(([phase, number]) => [lastPart(id, "claims/"), phase, String(number)]),
  );
  return lines.length ? [table("Claims by phase", ["namespace", "phase", "claims"], lines)] : ["none"];
}

function queue() {
  const depth = rows.get("queue");
  if (!depth) return ["unknown"];
  const classes = Object.entries(depth.classes).map(([name, number]) => `${number} ${name}`);
  const facts = [`${quantity(depth.dirty, "key")} to reconcile`, `${depth.held} being reconciled`, quantity(depth.timer, "waits for a time", "wait for a time")];
  facts.push(`ready: ${classes.join(", ")}`, `oldest ready ${depth.oldest} s`);
  return [element("p", { class: "fleet-facts" }, facts.join(" · "))];
}

function events() {
  const lines = rows.get("events") || [];
  return lines.length ? [table("Events, the newest first", ["time", "event", "of", "message"], lines)] : ["none"];
}

function problems() {
  return rowsOf("problem/").map((id) => element("p", { class: "fleet-problem", "data-row": id }, rows.get(id)));
}

const SECTIONS = { problem: ["problems", problems], claims: ["claims", claims], queue: ["queue", queue], events: ["events", events] };

function receive(changed, whole) {
  if (whole) rows.clear();
  const kinds = new Set(whole ? Object.keys(SECTIONS) : []);
  for (const [id, value] of Object.entries(changed)) {
    if (value === null) rows.delete(id);
    else rows.set(id, value);
    kinds.add(id.split("/")[0]);
  }
  const concerned = new Set(whole ? [...rows.keys(), ...pools.keys()] : Object.keys(changed).map(poolOf));
  updatePools("portpool/", byId("ports"), PortPoolPart, concerned);
  updatePools("podpool/", byId("pods"), PodPoolPart, concerned);
  for (const [kind, [id, parts]] of Object.entries(SECTIONS)) {
    if (kinds.has(kind)) replaceInPlace(byId(id), ...parts());
  }
}

function repaint() {
  byId("legend").replaceChildren();
  legend(byId("legend"), PORTS, SLOTS);
  for (const part of pools.values()) part.paint();
}

legend(byId("legend"), PORTS, SLOTS);
onNewLook(repaint);
follow(receive);
