// @ts-check

/*
 * Keeps the page up to date and saves its user the reloads. The server renders everything: the script
 * fetches the same page, or parts of it, and replaces the pieces that have another revision.
 */

// @ts-expect-error Trusted Types are not in the types of the DOM.
const policy = globalThis.trustedTypes?.createPolicy("inspector", {
  createHTML: (/** @type {string} */ html) => html,
});

/** @param {string} html of this server @returns {Document} */
const parse = (html) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");

/** @param {string} selector @param {ParentNode} [root] @returns {any} */
const one = (selector, root = document) => root.querySelector(selector);

/** @param {string} selector @param {ParentNode} [root] @returns {any[]} */
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/** @param {string} id @param {ParentNode} [root] @returns {any} */
const byId = (id, root) => one(`#${CSS.escape(id)}`, root);

/** @param {EventTarget} target @param {string} type @param {(event: any) => unknown} run */
const on = (target, type, run) => target.addEventListener(type, run);

/** @param {number} ms */
const clockText = (ms) => new Date(ms).toISOString().slice(11, 19);

/* One sentence in five seconds for screen readers: the most important one. */

let lastSaid = -5_000;
let saying = 0;
let sentence = "";
let rank = 0;

/** @param {string | undefined} text @param {number} importance */
function say(text, importance) {
  if (!text || (sentence && rank > importance)) return;
  sentence = text;
  rank = importance;
  clearTimeout(saying);
  const wait = lastSaid + 5_000 - performance.now();
  saying = setTimeout(() => {
    byId("status").textContent = sentence;
    sentence = "";
    lastSaid = performance.now();
  }, wait);
}

/* Pieces */

const fields = "input, select, textarea";

/** Somebody has changed it. @param {any} field */
function isDirty(field) {
  if (field.options) {
    const initial = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(0, initial);
  }
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  return field.type !== "hidden" && field.value !== field.defaultValue;
}

/** @param {any} piece */
const mustStay = (piece) =>
  piece.dataset.keep || (piece.id !== "filter" && all(fields, piece).some(isDirty));

/** What an action has returned. @param {ParentNode} place */
const result = (place) => one(".refused, .secret, .verdict[role=status]", place);

/** The action of a form and what it acts on. @param {Element} form */
const nameOf = (form) =>
  all("input[type=hidden]:not([name=token])", form)
    .map(({ value }) => value)
    .join();

/**
 * Finds what has the focus again, after `old` has become `fresh`.
 * @param {Element} old @param {any} fresh @returns {() => void}
 */
function focusKeeper(old, fresh) {
  /** @type {any} */
  const active = document.activeElement;
  if (!old.contains(active)) return () => {};
  const { id, form, ariaLabel, localName, selectionStart: caret } = active;
  const menu = active.closest("details")?.id;
  const place = form && [...form.elements].indexOf(active);
  return () => {
    let target;
    if (id) target = byId(id);
    else if (form)
      target = all("form", fresh).find((twin) => nameOf(twin) === nameOf(form))?.elements[place];
    else if (active.href) target = all("a", fresh).find(({ href }) => href === active.href);
    else if (ariaLabel) target = all(localName, fresh).find((twin) => twin.ariaLabel === ariaLabel);
    else if (menu) target = one("summary", byId(menu) ?? fresh);
    if (!target || target.disabled) target = fresh.closest("[tabindex]");
    target?.focus({ preventScroll: true });
    if (caret) target?.setSelectionRange?.(caret, caret);
  };
}

/** What was typed stays. @param {Element} old @param {Element} fresh */
function carry(old, fresh) {
  for (const field of all(fields, old).filter(({ form }) => form)) {
    if (!isDirty(field)) continue;
    const twin = all("form", fresh).find((form) => nameOf(form) === nameOf(field.form));
    const other = twin?.elements[[...field.form.elements].indexOf(field)];
    if (other) Object.assign(other, { value: field.value, checked: field.checked });
  }
}

/** @param {any} old @param {any} fresh */
function replace(old, fresh) {
  if (old.id !== "filter" && fresh.dataset.rev) carry(old, fresh);
  for (const { id, open } of [old, ...all("details[id]", old)]) {
    const twin = id === fresh.id ? fresh : byId(id, fresh);
    if (twin && open !== undefined) twin.open = open;
  }
  const keepFocus = focusKeeper(old, fresh);
  old.replaceWith(fresh);
  enliven(fresh);
  keepFocus();
}

/** Puts a new piece where the server has it. @param {any} piece */
function insert(piece) {
  const parent = byId(piece.parentElement.id);
  let sibling = piece.previousElementSibling;
  while (sibling && !(sibling.id && byId(sibling.id))) sibling = sibling.previousElementSibling;
  if (sibling) byId(sibling.id).after(piece);
  else parent?.prepend(piece);
  enliven(piece);
}

/** Lets it be replaced. @param {any} piece */
function dismiss(piece) {
  delete piece.dataset.keep;
  piece.dataset.rev = "";
  result(piece)?.remove();
}

/** @param {any} piece */
function offer(piece) {
  if (one(".stale", piece)) return;
  const button = document.createElement("button");
  button.className = "stale";
  button.textContent = "Changed meanwhile: show";
  on(button, "click", () => {
    for (const form of all("form", piece)) form.reset();
    dismiss(piece);
    void ask({ whole: true });
  });
  piece.prepend(button);
}

/**
 * Shows what the server has rendered.
 * @param {Document} next the page, or parts of it
 * @param {ReadonlySet<string>} [asked] the calls that were asked for. Default: a page of them
 */
function show(next, asked) {
  const shown = byId("detail").dataset.scope;
  const text = one("[data-announce]")?.textContent;
  const parts = all("#header, #timeline, #detail", next).map(({ id }) => id);
  const pieces = all("[data-rev]:not(#calls > li)", next);
  const ids = new Set(pieces.map(({ id }) => id));
  notice(byId("live", next));
  setClock(byId("clock", next));
  for (const part of all("[data-scope]", next)) {
    const old = byId(part.id);
    if (old.dataset.scope !== part.dataset.scope) replace(old, part);
    else if (part.id === "calls") merge(part, asked);
  }
  // Those of a part that was replaced are in the page by now.
  for (const piece of pieces.filter((part) => next.contains(part))) {
    const old = byId(piece.id);
    const isChanged = old?.dataset.rev !== piece.dataset.rev;
    const isResult = result(piece);
    const wasResult = old && result(old);
    if (!old) insert(piece);
    // A result stays until the next action. It is not part of what has changed since.
    else if (!isChanged && !isResult && !(next.title && wasResult)) continue;
    // Parts have no notice of what was done, and a field in use must not be replaced.
    else if (piece.id === "notice" && !next.title) continue;
    else if (piece.id === "filter" && old.contains(document.activeElement)) continue;
    else if (isResult || !(mustStay(old) || (wasResult && !next.title))) replace(old, piece);
    else if (isChanged) offer(old);
  }
  for (const part of parts)
    for (const piece of all("[data-rev]:not(#calls > li)", byId(part)))
      if (!ids.has(piece.id) && !mustStay(piece)) piece.remove();
  countRows();
  const now = one("[data-announce]")?.textContent;
  if (byId("detail").dataset.scope === shown && now !== text) say(now, 1);
}

/* The timeline */

/** Three pages of the server. */
const mostRows = 300;

const list = () => byId("calls");

/** Calls that came while the start of the list was out of view or in use. @type {Set<string>} */
const newer = new Set();

/** @param {any} row */
const timeOf = (row) => (row ? one("time", row).dateTime : "");

/** @param {Element} fresh @param {ReadonlySet<string>} [asked] */
function merge(fresh, asked) {
  const known = list();
  const next = fresh.ownerDocument;
  const isAtTop =
    next.title ||
    (!newer.size &&
      !page.has("before") &&
      !one(":focus-visible", known) &&
      known.getBoundingClientRect().top >= 0);
  const rows = all("#calls > li", next);
  const last = byId("older", next) ? rows.at(-1)?.id : "";
  // What is shown is older than all of this page.
  if (!asked && isAtTop && last && !byId(last)) return replace(known, fresh);
  const ids = new Set(rows.map(({ id }) => id));
  // The oldest first: calls of one time, as on a manual clock, each go above the last.
  for (const row of rows.toReversed()) {
    const old = byId(row.id);
    if (old?.dataset.rev === row.dataset.rev) continue;
    if (old) {
      replace(old, row);
      continue;
    }
    const place = all("#calls > li").find((other) => timeOf(other) <= timeOf(row));
    if (isAtTop || (place && place !== known.firstElementChild)) {
      known.insertBefore(row, place ?? null);
      enliven(row);
    } else newer.add(row.id);
  }
  // What no longer matches the filter goes, unless it is in use. Of older pages nothing is known here.
  let isKnown = !last || byId(last);
  for (const row of all("#calls > li")) {
    const isAbsent = !ids.has(row.id) && (asked ? asked.has(row.id) : isKnown);
    if (isAbsent && !one(":focus, .sel", row)) row.remove();
    if (row.id === last) isKnown = false;
  }
  while (known.childElementCount > mostRows) known.lastElementChild.remove();
}

/** The links and counts around the list follow its rows, of which the server knows one page. */
function countRows() {
  const rows = list();
  const link = byId("newer");
  link.hidden = !newer.size && !page.has("before");
  if (newer.size) link.textContent = `${newer.size} newer ${newer.size === 1 ? "call" : "calls"}`;
  const shown = one("[data-shown]");
  if (shown) shown.textContent = rows.childElementCount.toLocaleString("en");
  const last = rows.lastElementChild;
  if (!byId("older") || !last) return;
  const query = new URLSearchParams(page);
  const cursor = btoa(`${Date.parse(timeOf(last))} ${last.id}`);
  query.set("before", cursor.replaceAll("=", ""));
  byId("older").href = `/?${query}#timeline`;
}

/** Appends the server's next page of calls. */
async function showOlder() {
  const link = byId("older");
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  const mine = generation;
  const next = await load(`${link.href.replace("#timeline", "")}&part=timeline`);
  link.ariaBusy = null;
  if (!next || mine !== generation) return;
  const seen = list().lastElementChild;
  const { top } = seen.getBoundingClientRect();
  for (const row of all("#calls > li", next)) {
    if (byId(row.id)) continue;
    list().append(row);
    enliven(row);
  }
  for (const row of all("#calls > li").slice(0, -mostRows)) {
    newer.add(row.id);
    row.remove();
  }
  if (!byId("older", next)) link.remove();
  countRows();
  // Otherwise the rows above would take what is read with them.
  scrollBy(0, seen.getBoundingClientRect().top - top);
}

/* Requests */

/** The address, without what belongs to one response. */
let page = new URLSearchParams();

/** @param {string} query @param {string} [hash] */
function setAddress(query, hash = "") {
  page = new URLSearchParams(query);
  page.delete("done");
  history.replaceState(null, "", (page.size ? `/?${page}` : "/") + hash);
}

/** Increases with each change of the address: what was asked for before is dropped. */
let generation = 0;

let loadedAt = 0;

/** @param {string} url @param {RequestInit} [init] */
async function load(url, init) {
  try {
    const response = await fetch(url, { ...init, headers: { Accept: "text/html" } });
    if (response.redirected) setAddress(new URL(response.url).search);
    const html = await response.text();
    loadedAt = performance.now();
    setConnected();
    return parse(html);
  } catch {
    lost();
    return undefined;
  }
}

/** Shows another state of the page. @param {string} address */
async function go(address) {
  const { search, hash } = new URL(address, location.href);
  generation += 1;
  const mine = generation;
  setAddress(search, hash);
  const next = await load(`/?${page}`);
  if (!next || mine !== generation) return;
  showPage(next);
  bring(hash.slice(1));
}

/** @param {Document} next */
function showPage(next) {
  newer.clear();
  show(next);
  document.title = next.title;
}

/** Opens what hides a place, and scrolls to it. @param {string} id */
function bring(id) {
  const place = id && byId(id);
  if (!place) return;
  for (let box = place.closest("details"); box; box = box.parentElement.closest("details"))
    box.open = true;
  const { top, bottom } = place.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) place.scrollIntoView();
}

/** @param {any} form @param {HTMLElement | null} submitter */
async function submit(form, submitter) {
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  generation += 1;
  /** @type {any} */
  const data = new FormData(form, submitter);
  const next = await load(form.action, { method: "POST", body: new URLSearchParams(data) });
  form.ariaBusy = null;
  one(".refused", form)?.remove();
  if (!next) {
    const text = document.createElement("p");
    text.className = "refused";
    text.textContent = "The sandbox did not respond.";
    return form.append(text);
  }
  const outcome = result(next) ?? byId("notice", next);
  const isRefused = outcome.matches(".refused");
  if (!isRefused) form.reset();
  showPage(next);
  // Its piece stays if it has other fields in use.
  if (isRefused && next.contains(outcome)) form.append(outcome);
  if (!isRefused && form.closest(".menu")) form.closest(".menu").open = false;
  say((one("p", outcome) ?? outcome).textContent, 3);
  bring(outcome.id);
}

/** What to ask for. Changes that come while a request runs wait for its end. */
let wanted = { whole: false, setup: false, calls: new Set() };
let isAsking = false;
let isPaused = false;

/** More calls than these are asked for as a page. */
const mostNamed = 30;

/** @param {{ whole?: boolean, setup?: boolean, calls?: string[] }} changes */
async function ask({ whole = false, setup = false, calls = [] }) {
  wanted.whole ||= whole;
  wanted.setup ||= setup;
  for (const id of calls) wanted.calls.add(id);
  if (isAsking) return;
  isAsking = true;
  while (await askOnce());
  isAsking = false;
}

/** Whether there may be more to ask for. */
async function askOnce() {
  const { whole, setup, calls } = wanted;
  if (isPaused || !(whole || setup || calls.size)) return false;
  wanted = { whole: false, setup: false, calls: new Set() };
  const named = whole || calls.size > mostNamed ? undefined : calls;
  const query = new URLSearchParams(page);
  for (const part of ["header", "health", "timeline", "detail"]) query.append("part", part);
  if (whole || setup) query.append("part", "setup");
  if (named) for (const id of named.size ? named : ["none"]) query.append("call", id);
  const mine = generation;
  const next = await load(`/?${query}`);
  if (!next) {
    // The stream does not repeat what it has named, and may be open although this request failed.
    wanted.whole = true;
    setTimeout(() => void ask({}), 2_000);
    return false;
  }
  if (mine === generation) show(next, named);
  else wanted.whole = true;
  // In a burst the page has at least half of the time for its user: what is asked here is laid out.
  const took = list().offsetHeight && performance.now() - loadedAt;
  await new Promise((resolve) => setTimeout(resolve, 50 + 4 * took));
  return true;
}

/* The stream of changes */

/** @type {EventSource | undefined} */
let stream;
let position = document.body.dataset["stream"];
let failed = 0;

/** @param {string} state @param {string} text */
function setLive(state, text) {
  one(".live").dataset.live = state;
  one("[data-live-text]").textContent = text;
}

function setConnected() {
  if (stream?.readyState === EventSource.OPEN) setLive("live", isPaused ? "Paused" : "Live");
}

function lost() {
  if (one(".live").dataset.live === "off") return;
  const text = `Not connected since ${clockText(Date.now())}, trying again`;
  setLive("off", text);
  say(text, 2);
}

function connect() {
  if (stream || document.hidden) return;
  stream = new EventSource(`/_sandbox/stream?after=${position}`);
  on(stream, "open", setConnected);
  on(stream, "change", ({ lastEventId, data }) => {
    position = lastEventId;
    /** @type {{ changed: { kind: string, id: string, call?: string }[], counts: Record<string, number> }} */
    const { changed, counts } = JSON.parse(data);
    for (const place of all("[data-count]"))
      place.textContent = counts[place.dataset.count]?.toLocaleString("en");
    const count = counts["failed"] ?? 0;
    if (count > failed) say(`Failed deliveries: ${count}.`, 0);
    failed = count;
    void ask({
      setup: changed.some(({ id, call }) => !call || id === page.get("item")),
      calls: changed.flatMap(({ call }) => call ?? []),
    });
  });
  on(stream, "resync", ({ lastEventId }) => {
    position = lastEventId;
    newer.clear();
    // Another list: what it has may be gone.
    list().dataset.scope = "";
    void ask({ whole: true });
  });
  on(stream, "error", () => {
    lost();
    if (stream?.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, 2_000);
  });
}

function disconnect() {
  stream?.close();
  stream = undefined;
}

/** Reports a restart. @param {any} live the element of the server */
function notice(live) {
  const known = byId("live").dataset;
  if (!live || live.dataset.started === known.started) return;
  known.started = live.dataset.started;
  const text = `Restarted ${clockText(Date.now())}, ${live.dataset.kept}`;
  const place = byId("restarted");
  place.textContent = text;
  place.hidden = false;
  say(text, 2);
}

/* Time */

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** The sandbox's time, as of a moment of this page. */
let clock = { now: 0, at: 0, speed: 0 };
/** Countdowns in view. @type {Set<any>} */
const inView = new Set();
let ticking = 0;

/** @param {any} element */
function setClock(element) {
  if (!element) return;
  const { now, speed } = element.dataset;
  clock = { now: Number(now), at: performance.now(), speed: Number(speed) };
  tick();
}

/** @param {number} ms */
function leftText(ms) {
  if (ms <= 0) return "0 s";
  if (ms < 10_000 && !still.matches) return `${(ms / 1_000).toFixed(1)} s`;
  const s = Math.ceil(ms / 1_000);
  if (s < 60) return `${s} s`;
  const [hours, minutes] = [Math.floor(s / 3_600), Math.floor((s % 3_600) / 60)];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${s % 60} s`;
}

/** The one timer: once a second, and ten times in the last ten seconds of a countdown. */
function tick() {
  clearTimeout(ticking);
  const now = clock.now + (performance.now() - clock.at) * clock.speed;
  let isClose = false;
  for (const element of inView) {
    const left = element.dataset.due - now;
    isClose ||= left > 0 && left < 10_000 * clock.speed;
    element.textContent = leftText(left);
  }
  for (const bar of all("[data-from]")) {
    const { from, to } = bar.dataset;
    bar.setAttribute("width", Math.min(100, Math.max(0, (100 * (now - from)) / (to - from || 1))));
  }
  one("#clock time").textContent = clockText(now);
  if (clock.speed && !document.hidden)
    ticking = setTimeout(tick, isClose && !still.matches ? 100 : 1_000);
}

const countdowns = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries)
    inView[isIntersecting ? "add" : "delete"](target);
  tick();
});

const ends = new IntersectionObserver((entries) => {
  if (scrollY && entries.some(({ isIntersecting }) => isIntersecting)) void showOlder();
});

/** Shows what needs the script, and observes what counts. @param {any} root */
function enliven(root) {
  for (const button of all("[data-copy]", root)) button.hidden = !navigator.clipboard;
  for (const due of all("[data-due]", root)) countdowns.observe(due);
  for (const link of all("#older", root)) ends.observe(link);
}

/* Mouse and keyboard */

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.", 3);
  } catch {
    say("The browser did not allow copying.", 3);
  }
}

/** @param {any} event */
async function click(event) {
  const { target, button, ctrlKey, metaKey, shiftKey, altKey } = event;
  const text = target.closest("[data-copy]")?.dataset.copy;
  if (text) return copy(text);
  const link = target.closest("a");
  if (!link || button || ctrlKey || metaKey || shiftKey || altKey) return;
  const address = link.getAttribute("href");
  if (address[0] === "#") return bring(address.slice(1));
  if ("copyFrom" in link.dataset && navigator.clipboard) {
    event.preventDefault();
    return copy(await (await fetch(address)).text());
  }
  if (!/^\/(?:$|[?#])/.test(address)) return;
  event.preventDefault();
  if ("dismiss" in link.dataset) dismiss(link.closest("[data-keep]"));
  return link.id === "older" ? showOlder() : go(address);
}

function filter() {
  const query = new URLSearchParams(page);
  for (const name of ["q", "type", "endpoint_id"]) {
    const { value } = one(`#filter [name=${name}]`);
    if (value) query.set(name, value);
    else query.delete(name);
  }
  query.delete("before");
  void go(`/?${query}`);
}

/** @param {number} by */
function moveRow(by) {
  const rows = all("#calls a.name");
  const active = rows.indexOf(document.activeElement);
  const at = active < 0 ? rows.findIndex(({ ariaCurrent }) => ariaCurrent) : active;
  rows[Math.max(0, at + by)]?.focus();
}

/** @param {number} by */
function moveAttempt(by) {
  const rows = all("#attempts tbody a");
  rows[rows.findIndex(({ ariaCurrent }) => ariaCurrent) + by]?.click();
}

/** @param {string} id */
const visit = (id) => () => {
  byId(id).scrollIntoView();
  byId(id).focus({ preventScroll: true });
};

/** The keys that are not on a control of the page. @type {Record<string, () => void>} */
const keys = {
  j: () => moveRow(1),
  k: () => moveRow(-1),
  "[": () => moveAttempt(-1),
  "]": () => moveAttempt(1),
  p: () => byId("pause").click(),
  "?": () => byId("help").click(),
  1: visit("endpoints"),
  2: visit("faults"),
  3: visit("assumptions"),
  4: visit("domains"),
};

/** @param {any} event */
function press(event) {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const menu = target.closest?.("details[open]");
  if (key === "Escape") {
    target.blur();
    if (menu) menu.open = false;
    if (menu) one("summary", menu).focus();
  }
  const isField = target.closest?.("input:not([type=checkbox]), select, textarea, dialog");
  if (ctrlKey || metaKey || altKey || isField || !byId("shortcuts-on").checked) return;
  const control = one(`[data-key="${CSS.escape(key)}"]`);
  if (!control && !keys[key]) return;
  event.preventDefault();
  if (!control) return keys[key]?.();
  if (control.type === "search") control.focus();
  else control.click();
  if (control.parentElement.open) one("textarea", control.parentElement)?.focus();
}

/** A browser may refuse it: then the choice holds for this page. @param {() => unknown} use */
function stored(use) {
  try {
    return use();
  } catch {
    return undefined;
  }
}

on(document, "keydown", press);
on(document, "click", click);
on(document, "submit", (event) => {
  const { target, submitter } = event;
  if (target.method === "dialog") return;
  event.preventDefault();
  if (target.id === "filter") filter();
  else void submit(target, submitter);
});

let typing = 0;
on(document, "input", ({ target }) => {
  if (!target.closest("#filter")) return;
  clearTimeout(typing);
  typing = setTimeout(filter, 200);
});

on(byId("pause"), "click", ({ currentTarget }) => {
  isPaused = !isPaused;
  currentTarget.ariaPressed = isPaused;
  setConnected();
  void ask({});
});
on(byId("help"), "click", () => byId("shortcuts").showModal());
on(byId("shortcuts-on"), "change", ({ target }) =>
  stored(() => localStorage.setItem("shortcuts", target.checked)),
);

// A browser has six connections to a host: hidden tabs hold none.
on(document, "visibilitychange", () => {
  if (document.hidden) disconnect();
  else connect();
  tick();
});
on(window, "pagehide", disconnect);
on(window, "pageshow", connect);

document.body.classList.add("scripted");
byId("live").hidden = false;
byId("shortcuts-on").checked = stored(() => localStorage.getItem("shortcuts")) !== "false";
failed = Number(one("[data-count=failed]").textContent.replaceAll(",", ""));
setAddress(location.search, location.hash);
enliven(document);
setClock(byId("clock"));
countRows();
bring(location.hash.slice(1));
connect();
