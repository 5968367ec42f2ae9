// Cells on a canvas. Each state has a shape as well as a colour, and is drawn once, as a sprite.

import { element } from "./dom.js";

export const PORTS = {
  ".": ["free", "outline"],
  a: ["allocated", "half"],
  b: ["bound", "full"],
  r: ["releasing", "slash"],
  k: ["retained", "ring"],
  f: ["foreign", "cross"],
  x: ["retiring", "dot"],
};
export const SLOTS = {
  r: ["running", "full"],
  s: ["reserved", "half"],
  i: ["idle", "outline"],
  c: ["closed", "cross"],
  n: ["booting", "dot"],
  w: ["away", "slash"],
  m: ["claimed", "ring"],
};

const SIZE = 12; // px of a cell with its gap
const INNER = 10;
const GAP = 4; // px between groups
const sprites = new Map();

function draw(context, shape, colour) {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  const end = INNER - 1;
  context.strokeRect(1, 1, end - 1, end - 1);
  context.beginPath();
  switch (shape) {
    case "full":
      context.fillRect(0, 0, INNER, INNER);
      break;
    case "half":
      context.moveTo(1, end);
      context.lineTo(end, 1);
      context.lineTo(end, end);
      context.fill();
      break;
    case "slash":
      context.moveTo(1, end);
      context.lineTo(end, 1);
      context.stroke();
      break;
    case "cross":
      context.moveTo(1, end);
      context.lineTo(end, 1);
      context.moveTo(1, 1);
      context.lineTo(end, end);
      context.stroke();
      break;
    case "ring":
      context.arc(INNER / 2, INNER / 2, 2.5, 0, 2 * Math.PI);
      context.stroke();
      break;
    case "dot":
      context.arc(INNER / 2, INNER / 2, 2, 0, 2 * Math.PI);
      context.fill();
      break;
  }
}

function sprite([name, shape]) {
  const scale = window.devicePixelRatio || 1;
  const colour = getComputedStyle(document.body).getPropertyValue(`--cell-${name}`).trim();
  const key = `${name} ${colour} ${scale}`;
  if (!sprites.has(key)) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.ceil(INNER * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    draw(context, shape, colour);
    sprites.set(key, canvas);
  }
  return sprites.get(key);
}

// "3 free, 2 bound": what a person who does not see the cells hears.
export function counts(letters, states) {
  const numbers = new Map();
  for (const letter of letters) numbers.set(letter, (numbers.get(letter) || 0) + 1);
  return Object.entries(states)
    .filter(([letter]) => numbers.has(letter))
    .map(([letter, [name]]) => `${numbers.get(letter)} ${name}`)
    .join(", ") || "none";
}

export function legend(list, ...kinds) {
  const shown = new Map(kinds.flatMap(Object.values).map((state) => [state[0], state]));
  for (const state of shown.values()) {
    const canvas = element("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
    canvas.getContext("2d").drawImage(sprite(state), 0, 0, INNER, INNER);
    list.append(element("li", {}, canvas, ` ${state[0]}`));
  }
}

// A canvas of groups of cells that wraps at its width. `groups`: texts with a letter a cell.
export class Cells {
  constructor(states, label) {
    this.states = states;
    this.label = label;
    this.groups = [];
    this.places = [];
    this.canvas = element("canvas", { role: "img", class: "fleet-cells" });
  }

  set(groups) {
    this.groups = groups;
    this.canvas.setAttribute("aria-label", `${this.label}: ${counts(groups.join(""), this.states)}`);
    this.paint();
  }

  paint() {
    const parent = this.canvas.parentElement;
    const width = Math.max(parent ? parent.clientWidth : 0, 10 * SIZE);
    const places = [];
    let x = 0;
    let y = 0;
    let right = 0;
    for (const group of this.groups) {
      const size = group.length * SIZE;
      if (x && x + size > width) {
        x = 0;
        y += SIZE + 2;
      }
      for (let at = 0; at < group.length; at += 1) {
        if (x + SIZE > width) {
          x = 0;
          y += SIZE + 2;
        }
        places.push([x, y, group[at]]);
        x += SIZE;
        right = Math.max(right, x);
      }
      x += GAP;
    }
    this.places = places;
    const scale = window.devicePixelRatio || 1;
    const height = this.groups.length ? y + SIZE : 0;
    this.canvas.width = Math.ceil(right * scale);
    this.canvas.height = Math.ceil(height * scale);
    this.canvas.style.width = `${right}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    const images = new Map(Object.entries(this.states).map(([letter, state]) => [letter, sprite(state)]));
    for (const [left, top, letter] of places) {
      if (images.has(letter)) context.drawImage(images.get(letter), left, top, INNER, INNER);
    }
  }

  // The number of the cell at a point of the page, from 0 over all groups, -1 for none.
  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return this.places.findIndex(([left, top]) => x >= left && x < left + SIZE && y >= top && y < top + SIZE);
  }

  // The number of the group at a point of the page, -1 for none.
  groupAt(event) {
    const place = this.cellAt(event);
    if (place < 0) return -1;
    let before = 0;
    return this.groups.findIndex((group) => (before += group.length) > place);
  }
}

// Calls `repaint` when colours or the width of the page change.
export function onNewLook(repaint) {
  new MutationObserver(repaint).observe(document.documentElement, { attributes: true, attributeFilter: ["data-bs-theme"] });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (width !== window.innerWidth) repaint();
    width = window.innerWidth;
  });
}
