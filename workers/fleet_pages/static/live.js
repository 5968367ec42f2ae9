// The board as this page knows it: read whole once, then kept up by a stream of changes.
// A hidden tab closes its stream, because a browser has only six connections to a server.

import { addressOf, base, setText } from "./dom.js";

const PATIENCE = 12000; // ms of silence after which the page is not live
const AGAIN = 2000;

const state = document.getElementById("live");
let source = null;
let heard = 0;
let read = 0;

function show(kind, text) {
  state.dataset.state = kind;
  setText(state, text);
}

function since() {
  return heard ? `, as of ${new Date(read).toLocaleTimeString()}` : "";
}

function lost(why) {
  show("lost", `Not live: ${why}${since()}`);
}

// `receive(rows, whole)`: id of a row -> value, null for one that is gone; `whole`: they are all rows.
export function follow(receive) {
  let position = "";

  function fresh() {
    heard = read = Date.now();
  }

  function apply(rows, whole) {
    fresh();
    receive(rows, whole);
    show("live", "Live");
  }

  async function start() {
    stop();
    if (document.hidden) return;
    try {
      const answer = await fetch(addressOf(`${base}/board`), { cache: "no-store" });
      if (answer.redirected) location.reload(); // to log in again
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const board = await answer.json();
      position = `${board.boot}:${board.seq}`;
      apply(board.rows, true);
    } catch (error) {
      lost(error instanceof TypeError ? "the server does not answer" : error.message);
      setTimeout(start, AGAIN);
      return;
    }
    listen();
  }

  function listen() {
    stop();
    source = new EventSource(addressOf(`${base}/changes?from=${encodeURIComponent(position)}`));
    source.onmessage = (message) => {
      position = message.lastEventId || position;
      apply(JSON.parse(message.data).rows, false);
    };
    source.addEventListener("alive", () => {
      fresh();
      show("live", "Live");
    });
    source.addEventListener("late", () => {
      heard = Date.now();
      lost("the server could not read the fleet");
    });
    source.addEventListener("reload", start);
    source.onerror = () => {
      if (source && source.readyState === EventSource.CLOSED) {
        stop();
        lost("the server does not answer");
        setTimeout(start, AGAIN);
      }
    };
  }

  function stop() {
    if (source) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      stop();
      lost("this tab was hidden");
    } else {
      start();
    }
  });
  window.addEventListener("pagehide", stop);
  setInterval(() => {
    if (heard && Date.now() - heard > PATIENCE) lost("nothing was heard from the server");
  }, 1000);
  start();
}
