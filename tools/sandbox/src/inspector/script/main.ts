/*
 * Keeps the page up to date without reloads. The server renders the content: the script fetches the same
 * page, or parts of it, and replaces the pieces whose revision has changed.
 */

import { setAddress } from "./address.js";
import { click } from "./clicks.js";
import { bring, byId, the } from "./dom.js";
import { press, shortcuts } from "./keys.js";
import { live, showConnected } from "./live.js";
import { filter, submit } from "./navigation.js";
import { enliven } from "./pieces.js";
import { stored } from "./storage.js";
import { connect, disconnect } from "./stream.js";
import { setClock, tick } from "./time.js";
import { countRows } from "./timeline.js";
import { ask } from "./updates.js";

document.addEventListener("keydown", press);
document.addEventListener("click", click);
document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method === "dialog") return;
  event.preventDefault();
  if (form.id === "filter") filter();
  else void submit(form, event.submitter);
});

let typing = 0;
document.addEventListener("input", ({ target }) => {
  if (!(target as Element).closest("#filter")) return;
  clearTimeout(typing);
  typing = setTimeout(filter, 200);
});

const pause = the("#pause");
pause.addEventListener("click", () => {
  live.isPaused = !live.isPaused;
  pause.ariaPressed = String(live.isPaused);
  showConnected();
  void ask({});
});
the("#help").addEventListener("click", () => (the("#shortcuts") as HTMLDialogElement).showModal());
shortcuts.addEventListener("change", () =>
  stored(() => localStorage.setItem("shortcuts", String(shortcuts.checked))),
);

const root = document.documentElement.dataset;
const scheme = the("#scheme") as HTMLSelectElement;
scheme.addEventListener("change", () => {
  root.scheme = scheme.value;
  stored(() => localStorage.setItem("scheme", scheme.value));
});

// Browsers open at most six HTTP/1.1 connections to a host, so a hidden tab closes its stream.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect();
  else connect();
  tick();
});
window.addEventListener("pagehide", disconnect);
window.addEventListener("pageshow", connect);

document.body.classList.add("scripted");
the("#live").hidden = false;
scheme.hidden = false;
// Both controls are set, because the browser may have restored old values.
scheme.value = root.scheme ?? "";
shortcuts.checked = stored(() => localStorage.getItem("shortcuts")) !== "false";
setAddress(location.search, location.hash);
enliven(document);
setClock(byId("clock"));
countRows();
bring(location.hash.slice(1));
connect();
