// The log on the page of a job: asks for the lines that come while somebody looks, and keeps the last of them.

import { addressOf, element, replaceInPlace, setText } from "./dom.js";

const SOON = 1000; // ms, while the attempt runs
const LATER = 2000; // afterwards: another attempt may follow
const MOST = 2000; // lines in the page

export function showLog(place, source) {
  const chosen = new URLSearchParams(location.search).get("attempt") || "";
  const title = element("h2", {}, "Log");
  const note = element("p", { id: "log-note" });
  const others = element("nav", { "aria-label": "Attempts" });
  const lines = element("div", { class: "fleet-log", role: "log", "aria-live": "off", "aria-label": "Log", tabindex: "0" });
  let [attempt, after, links, dropped] = ["", "", "", 0];
  place.after(element("section", {}, title, others, note, lines));

  function draw(log) {
    if (log.attempt !== attempt) {
      lines.replaceChildren();
      dropped = 0;
    }
    [attempt, after] = [log.attempt, log.after];
    const phase = log.attempts.find((part) => part.attempt === attempt)?.phase;
    setText(title, phase ? `Log of ${phase}, attempt ${attempt}` : "Log");
    const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(
      ...log.lines.map((part) =>
        part.gap ? element("div", { class: "fleet-gap" }, part.gap) : element("div", { title: part.at }, part.text || "\u00a0"),
      ),
    );
    for (; lines.childElementCount > MOST; dropped += 1) lines.firstElementChild.remove();
    if (atEnd) lines.scrollTop = lines.scrollHeight;
    const printed = lines.childElementCount ? "" : "Nothing was printed. ";
    const hidden = dropped ? `The last ${MOST} lines. ` : "";
    setText(note, `${printed}${hidden}${log.ended ? "The attempt has ended." : ""}`);
    const text = JSON.stringify(log.attempts);
    if (text !== links) {
      links = text;
      replaceInPlace(others, ...(log.attempts.length > 1 ? log.attempts.flatMap(toAttempt) : []));
    }
  }

  function toAttempt(part) {
    const href = `?attempt=${encodeURIComponent(part.attempt)}`;
    return [element("a", { href }, `${part.phase} ${part.attempt}`), " "];
  }

  async function load() {
    let pause = LATER;
    try {
      if (!document.hidden) {
        const query = new URLSearchParams({ attempt: chosen, of: attempt, after });
        const answer = await fetch(addressOf(`${source}?${query}`), { cache: "no-store" });
        if (answer.ok && !answer.redirected) {
          const log = await answer.json();
          draw(log);
          if (!log.ended) pause = log.more ? 0 : SOON;
        } else if (!answer.redirected) {
          setText(note, (await answer.json()).problem);
        }
      }
    } catch {
      setText(note, "The server does not answer.");
    }
    setTimeout(load, pause);
  }

  load();
}
