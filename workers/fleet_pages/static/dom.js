// Small helpers. Text from outside only ever becomes text: nothing here parses HTML.

export const base = document.body.dataset.base;

// Address of a path of this server. Written out, because an address that the browser completes itself inherits the user
// and password of the page's own (http://user:password@host/fleet), and browsers refuse to fetch such an address.
export function addressOf(path) {
  return location.origin + path;
}

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export function link(path, text) {
  return element("a", { href: base + path }, text);
}

// Path of the page of an object; each part is escaped, because names come from outside.
export function pathOf(...parts) {
  return "/" + parts.flatMap((part) => part.split("/")).map(encodeURIComponent).join("/");
}

export function table(caption, columns, rows) {
  const head = element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element(
    "div",
    { class: "fleet-table", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      { class: "table table-sm" },
      element("caption", {}, caption),
      element("thead", {}, head),
      element("tbody", {}, ...body),
    ),
  );
}

// A number with its noun. `plural`: without it, the singular with an s.
export function quantity(count, singular, plural = `${singular}s`) {
  return `${count} ${count === 1 ? singular : plural}`;
}

// Replaces the text only if it differs, so that a screen reader says nothing twice.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function nameOf(node) {
  return [node.tagName, node.id || node.getAttribute("href") || node.getAttribute("aria-label")].join(" ");
}

// Replaces the children, and keeps the focus and what is scrolled where it was.
export function replaceInPlace(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const scrolled = [...parent.querySelectorAll(".fleet-table")].map((node) => node.scrollTop);
  parent.replaceChildren(...children);
  parent.querySelectorAll(".fleet-table").forEach((node, at) => {
    node.scrollTop = scrolled[at] || 0;
  });
  if (focused) {
    const same = [...parent.querySelectorAll("a, button, [tabindex]")].find((node) => nameOf(node) === focused);
    same?.focus({ preventScroll: true });
  }
}
