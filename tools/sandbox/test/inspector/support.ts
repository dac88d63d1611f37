import { defaultTreeAdapter, html as names, parse, type DefaultTreeAdapterTypes } from "parse5";
import { open, receiver, type Opened } from "../support.js";

export type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;
type ParentNode = DefaultTreeAdapterTypes.ParentNode;

const isElement = (node: Node): node is Element => defaultTreeAdapter.isElementNode(node);

export const attr = ({ attrs }: Element, name: string): string | undefined =>
  attrs.find((one) => one.name === name)?.value;

const childrenOf = (node: Node): readonly Node[] => {
  if (isElement(node) && node.tagName === "template") return [];
  return "childNodes" in node ? node.childNodes : [];
};

/** Returns all descendant elements, in document order. */
export const elements = (node: ParentNode): readonly Element[] =>
  childrenOf(node).flatMap((child) => (isElement(child) ? [child, ...elements(child)] : []));

/** Returns a node's text, with white space collapsed as a browser would. */
export function textOf(node: Node): string {
  const read = (one: Node): string =>
    defaultTreeAdapter.isTextNode(one) ? one.value : childrenOf(one).map(read).join("");
  return read(node).replaceAll(/\s+/g, " ").trim();
}

/** Returns a node's text unchanged. */
export const rawText = (node: Node): string =>
  defaultTreeAdapter.isTextNode(node) ? node.value : childrenOf(node).map(rawText).join("");

/** Whether an element matches `tag#id.class[name=value][name]`, each part optional. */
function matches(element: Element, selector: string): boolean {
  const [, tag = "", rest = ""] = /^([\w-]*)(.*)$/s.exec(selector) ?? [];
  if (tag !== "" && element.tagName !== tag) return false;
  const classes = (attr(element, "class") ?? "").split(" ");
  const parts = rest.matchAll(/#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:=([^\]]*))?\]/g);
  return Array.from(parts).every(([, id, name, key = "", value]) => {
    if (id !== undefined) return attr(element, "id") === id;
    if (name !== undefined) return classes.includes(name);
    const found = attr(element, key);
    return value === undefined ? found !== undefined : found === value;
  });
}

/** Returns the elements that match a descendant selector such as `#setup form[data-action=reset]`. */
export function all(within: ParentNode, selector: string): readonly Element[] {
  const [first = "", ...rest] = selector.split(" ");
  const found = elements(within).filter((one) => matches(one, first));
  if (rest.length === 0) return found;
  return Array.from(new Set(found.flatMap((one) => all(one, rest.join(" ")))));
}

/** Returns the first element that `all` finds. @throws Error if there is none */
export function the(within: ParentNode, selector: string): Element {
  const [found] = all(within, selector);
  if (!found) throw new Error(`The page has no ${selector}.`);
  return found;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  readonly dom: ParentNode;
  /** The URL, including its fragment. */
  readonly url: string;
}

interface Init extends RequestInit {
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Loads pages and submits forms as a browser without JavaScript does. */
export function browser({ url: base }: Pick<Opened, "url">) {
  async function load(address: string, { headers, ...more }: Init = {}): Promise<Reply> {
    const url = new URL(address, base);
    const response = await fetch(url, {
      redirect: "manual",
      headers: { accept: "text/html,*/*;q=0.8", ...headers },
      ...more,
    });
    const html = await response.text();
    // No script runs here, so the content of `noscript` is parsed as elements.
    const dom = parse(html, { scriptingEnabled: false });
    return { status: response.status, headers: response.headers, html, dom, url: url.href };
  }

  const get = (address = "/") => load(address);

  const post = (address: string, fields: Iterable<readonly [string, string]>) =>
    load(address, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: base,
        "sec-fetch-site": "same-origin",
      },
      body: encoded(fields),
    });

  /** Submits a form with other values in some of its fields. Undefined omits a field. */
  function submit(page: Reply, form: Element, changes: Fields = {}) {
    const own = fieldsOf(form).filter(([name]) => !Object.hasOwn(changes, name));
    const known = new Set(controls(form).map((control) => attr(control, "name")));
    const others = Object.entries(changes).flatMap(([name, value]) => {
      if (!known.has(name)) throw new Error(`The form has no field ${name}.`);
      return [value ?? []].flat().map((text) => [name, text] as const);
    });
    return post(new URL(attr(form, "action") ?? "", page.url).href, [...own, ...others]);
  }

  return { load, get, post, submit, follow: (reply: Reply) => get(locationOf(reply)) };
}

function encoded(fields: Iterable<readonly [string, string]>): string {
  const params = new URLSearchParams();
  for (const [name, value] of fields) params.append(name, value);
  return params.toString();
}

export const locationOf = ({ headers, url }: Reply): string =>
  new URL(headers.get("location") ?? "", url).href;

const controls = (form: Element) =>
  elements(form).filter(({ tagName }) => ["input", "select", "textarea"].includes(tagName));

/** Returns the fields that a browser sends if the user changes nothing. */
export const fieldsOf = (form: Element): readonly (readonly [string, string])[] =>
  controls(form).flatMap((control) => {
    const name = attr(control, "name");
    const type = attr(control, "type");
    if (name === undefined) return [];
    if (type === "checkbox" && attr(control, "checked") === undefined) return [];
    return [[name, valueOf(control)] as const];
  });

/** Returns a field's value as a browser sends it. */
export function valueOf(control: Element): string {
  if (control.tagName === "textarea") return rawText(control).replaceAll(/\r?\n/g, "\r\n");
  if (control.tagName === "input") return attr(control, "value") ?? "";
  const options = all(control, "option");
  const chosen = options.find((option) => attr(option, "selected") !== undefined) ?? options[0];
  return chosen ? (attr(chosen, "value") ?? textOf(chosen)) : "";
}

/** Finds the form of an action whose fields have the values in `fixed`. */
export function formOf({ dom }: Reply, action: string, fixed: Fields = {}): Element {
  const found = all(dom, `form[data-action=${action}]`).find((form) => {
    const fields = fieldsOf(form);
    return Object.entries(fixed).every(([name, value]) =>
      fields.some(([key, text]) => key === name && text === value),
    );
  });
  if (!found) throw new Error(`The page has no form ${action} with ${JSON.stringify(fixed)}.`);
  return found;
}

const references: ReadonlySet<string | undefined> = new Set([
  "for",
  "list",
  "aria-labelledby",
  "aria-controls",
  "aria-describedby",
]);

/** Lists the problems that no page may have, whatever its content. */
export function problems({ dom, html, url }: Reply, routes: readonly string[]): readonly string[] {
  const found: string[] = [];
  const every = elements(dom);
  const ids = every.flatMap((element) => attr(element, "id") ?? []);
  const known = new Set(ids);
  const report = (text: string) => void found.push(`${url}: ${text}`);
  if (!html.endsWith("</html>")) report("the document is not complete");
  for (const id of known)
    if (ids.indexOf(id) !== ids.lastIndexOf(id)) report(`two elements have the id ${id}`);
  if (all(dom, "h1").length !== 1 || all(dom, "main").length !== 1) report("one h1 and one main");
  for (const element of every) {
    const { tagName, namespaceURI } = element;
    if (namespaceURI !== names.NS.HTML && namespaceURI !== names.NS.SVG) report(`a ${tagName}`);
    for (const { name, value } of element.attrs) {
      if (name === "style" || name.startsWith("on")) report(`${tagName} has the attribute ${name}`);
      if (name !== "value" && /^\s*(?:javascript|vbscript):/i.test(value))
        report(`${tagName} ${name}=${value}`);
      if (references.has(name) && value.split(" ").some((id) => !known.has(id)))
        report(`${tagName} ${name} names ${value}, which is not there`);
      if (name === "href" && value.startsWith("#") && !known.has(value.slice(1)))
        report(`a link to ${value}, which is not there`);
    }
    if (tagName === "style" || tagName === "object" || tagName === "embed") report(`a ${tagName}`);
    if (tagName === "script" && (!attr(element, "src")?.startsWith("/assets/") || rawText(element)))
      report("an inline script");
    if (tagName === "iframe" && attr(element, "sandbox") !== "") report("a frame without sandbox");
    if (tagName === "form" && attr(element, "method") === "post") {
      const [, name = ""] = fieldsOf(element).find(([key]) => key === "do") ?? [];
      if (!routes.includes(name)) report(`a form for the action "${name}"`);
    }
  }
  return found;
}

/** Returns all deliveries with their event's type, oldest first. */
export const deliveriesOf = async (opened: Opened) =>
  (await opened.sourceEvents()).flatMap(({ type, deliveries }) =>
    deliveries.map((one) => ({ ...one, type })),
  );

export const openPage = async (options: Parameters<typeof open>[0] = {}) => {
  const opened = await open(options);
  return { ...opened, ...browser(opened) };
};

/** The response body of a receiver that rejects a signature. */
export const mismatch = '{"error": {"code": "signature_mismatch"}}';

/**
 * Opens a sandbox with a varied history: attempts with every kind of result, copies, a tampered and an edited one, a
 * rotation, faults, domains, an archived endpoint, rejected and repeated calls, long bodies.
 */
export async function busy(options: Parameters<typeof open>[0] = {}) {
  const opened = await openPage(options);
  const { control, call, settle, clock } = opened;
  const secrets: string[] = [];
  const register = async (url: string, ...types: string[]) => {
    const { id, secret } = await opened.register(url, ...types);
    secrets.push(secret);
    return id;
  };
  const failing = await receiver([500, 401, 302, 401], { text: mismatch });
  const fine = await receiver(200, { text: "x".repeat(20_000) });
  const first = await register(failing.url, "email.sent");
  await register(fine.url, "email.sent", "email.delivered");
  await register("http://127.0.0.1:1/refused", "domain.updated");
  const old = await register("http://localhost:1/archived", "email.delivered");
  await control(`POST endpoints/${old}/archive`);
  await call("POST /v1/domains", { domain_name: "mail.example.test" });
  await call("POST /v1/domains", { domain_name: "other.fail.test" });
  for (const { domain_id: id } of (await control("GET domains")).body.data)
    await control(`POST domains/${id}/verify`);
  await opened.send(
    { html: '<p>Hello <a href="https://example.com/?a=1&amp;b">there</a></p>' },
    { "idempotency-key": "one-key" },
  );
  await opened.send(
    { html: '<p>Hello <a href="https://example.com/?a=1&amp;b">there</a></p>' },
    { "idempotency-key": "one-key" },
  );
  await opened.send({ text: "é".repeat(20_000), subject: "A long one" });
  await settle();
  await clock.advance(1_000);
  await call("POST /v1/emails", { from: "nobody" });
  await call("GET /v1/webhook-events");
  const rotated = await call(`POST /v1/webhook-endpoints/${first}:rotate-secret`);
  secrets.push(rotated.body.secret);
  const [delivery] = await opened.deliveries();
  const sendAgain = (body: object) => control(`POST deliveries/${delivery?.id}/send`, body);
  await sendAgain({ times: 60, concurrent: true });
  await settle();
  await sendAgain({ tamper: "wrong_secret" });
  await sendAgain({ body: '{"edited": true}' });
  await control("POST faults", { target: first, kind: "status", times: 2 });
  await sendAgain({});
  await settle();
  await control("POST assumptions/A-06", { value: "allow" });
  await control("POST assumptions/A-04", { value: "none" });
  await control("POST test-email", { subject: "Nothing is raised for this" });
  await settle();
  return { ...opened, secrets };
}

export interface Crawl {
  readonly pages: readonly Reply[];
  /** Links to anchors that do not exist in their page, and addresses whose response is not 200. */
  readonly broken: readonly string[];
}

/** Replaces the ids and values in an address, so that addresses of the same kind are equal. */
const kindOf = (address: string) =>
  address.replaceAll(/_\w{16,}|\d+|(?:state|before)=[\w-]+/g, "_");

/** The maximum number of addresses of one kind to load. */
const mostOfKind = 3;

/**
 * Loads the targets of links, search forms, frames and assets, up to `depth` steps from the start. Loads only the first
 * few addresses of each kind.
 */
export async function crawl(
  { get, url }: Pick<Awaited<ReturnType<typeof openPage>>, "get" | "url">,
  depth: number,
): Promise<Crawl> {
  const loaded = new Map<string, Reply>();
  const broken = new Set<string>();
  const anchors: [from: string, to: string][] = [];
  const kinds = new Map<string, number>();
  let next = [`${url}/`];
  for (let step = 0; step <= depth; step += 1) {
    const found = new Set<string>();
    for (const address of next) {
      const kind = kindOf(address);
      const count = kinds.get(kind) ?? 0;
      if (loaded.has(address) || count === mostOfKind) continue;
      kinds.set(kind, count + 1);
      const page = await get(address);
      loaded.set(address, page);
      if (page.status !== 200) broken.add(`${address}: ${page.status}`);
      if (!isDocument(page)) continue;
      for (const target of targetsOf(page)) {
        anchors.push([address, target]);
        found.add(target.split("#", 1)[0] ?? "");
      }
    }
    next = Array.from(found);
  }
  for (const [from, to] of anchors) {
    const [address = "", id = ""] = to.split("#");
    const page = loaded.get(address);
    if (page && id !== "" && !idsOf(page).has(id)) broken.add(`${from}: ${to} is not there`);
  }
  return { pages: Array.from(loaded.values()), broken: Array.from(broken) };
}

/** Whether the reply is the page, as opposed to an email or JSON. */
export const isDocument = ({ html }: Reply): boolean =>
  html.startsWith('<!doctype html><html lang="en">');

const known = new WeakMap<Reply, ReadonlySet<string>>();

const idsOf = (page: Reply): ReadonlySet<string> => {
  const ids =
    known.get(page) ?? new Set(elements(page.dom).flatMap((element) => attr(element, "id") ?? []));
  known.set(page, ids);
  return ids;
};

/** Returns the same-origin addresses to which the page leads without changing anything. */
function targetsOf({ dom, url }: Reply): readonly string[] {
  const links = ["href", "src"].flatMap((name) =>
    all(dom, `[${name}]`)
      .filter(({ tagName }) => tagName !== "use")
      .map((element) => attr(element, name) ?? ""),
  );
  const searches = all(dom, "form[role=search]").map(
    (form) => `${attr(form, "action")}?${encoded(fieldsOf(form))}`,
  );
  return [...links, ...searches]
    .filter((link) => !link.startsWith("data:"))
    .map((link) => new URL(link, url))
    .filter(({ origin }) => origin === new URL(url).origin)
    .map(({ href }) => href);
}
