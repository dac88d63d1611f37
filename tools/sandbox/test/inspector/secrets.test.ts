import { join } from "node:path";
import { createReceiver } from "@svc-webhooks/core";
import { fingerprint } from "@svc-webhooks/explain";
import { runScenario } from "@svc-webhooks/sandbox";
import { present } from "@svc-webhooks/kit/present";
import { describe, expect, test } from "vitest";
import { until } from "@svc-webhooks/kit/until";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
import { email, receiver } from "../support.js";
import { busy, fieldsOf, formOf, openPage, textOf, the, type Reply } from "./support.js";

type Opened = Awaited<ReturnType<typeof openPage>>;

/** Collects every page, page part, control route, curl command, email and log line of a sandbox. */
async function everything({ control, get, lines }: Opened): Promise<string[]> {
  const calls = (await control("GET timeline?limit=100")).body.data;
  const events = calls.flatMap((call) => call.events);
  const deliveries = events.flatMap((event) => event.deliveries);
  const sends = calls.flatMap(({ send }) => send ?? []);
  const lists = [
    "",
    "overview",
    "timeline",
    "clock",
    "endpoints",
    "domains",
    "faults",
    "assumptions",
  ];
  const attempts = deliveries.flatMap((delivery) =>
    [1, delivery.attempts.length].map((n) => `deliveries/${delivery.id}/attempts/${n}`),
  );
  const routes = [
    ...lists,
    ...calls.map(({ id }) => `calls/${id}?full=true`),
    ...sends.flatMap(({ id }) => ["", "/html", "/text"].map((part) => `sends/${id}${part}`)),
    ...events.map(({ id }) => `events/${id}`),
    ...deliveries.map(({ id }) => `deliveries/${id}?full=true`),
    ...attempts.flatMap((path) => [`${path}?full=true`, `${path}/curl`]),
  ];
  const ids = [...calls, ...sends, ...events, ...deliveries].map(({ id }) => id);
  const parts = ["header", "health", "timeline", "detail", "setup"].map((part) => `part=${part}`);
  const addresses = [
    "/",
    "/openapi.json",
    ...routes.map((route) => `/_sandbox/${route}`),
    ...ids.map((id) => `/?item=${id}&full=true`),
    ...parts.map((part) => `/?${part}`),
    `/?${parts.join("&")}&item=${deliveries[0]?.id ?? ""}`,
  ];
  const found: string[] = [];
  for (const address of addresses) found.push((await get(address)).html);
  expect(found.length).toBeGreaterThan(20);
  return [...found, ...lines];
}

/** Reads the stream from its beginning. */
async function readStream({ url }: Opened) {
  const { body } = await fetch(`${url}/_sandbox/stream`);
  let text = "";
  void (async () => {
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  })().catch(() => {});
  await until(() => text !== "", "the stream starts");
  return () => text;
}

const registered = { url: "http://localhost:3000/new" };

describe("a signing secret", () => {
  test("is in the one response that creates or rotates it", async () => {
    const opened = await busy({ assumptions: { "A-19": "deferred:1h" } });
    const stream = await readStream(opened);
    const before = stream();
    const page = await opened.get();
    const created = await opened.submit(page, formOf(page, "create-endpoint"), registered);
    const { data } = (await opened.control("GET endpoints")).body;
    const { webhook_endpoint_id: id } = present(data.find(({ url }) => url === registered.url));
    const rotated = await opened.submit(created, formOf(created, "rotate-secret", { id }));
    const archived = await opened.submit(rotated, formOf(rotated, "archive", { id }));
    const left = await opened.follow(archived);
    await until(() => stream() !== before, "the changes are in the stream");

    const secretOf = ({ dom }: Reply) => textOf(the(dom, "#secret .whole"));
    const [first, second] = [secretOf(created), secretOf(rotated)];
    expect(first).toMatch(/^whsec_\S{20,}$/);
    expect(second).toMatch(/^whsec_\S{20,}$/);
    expect(second).not.toBe(first);
    const all = [
      ...[page, created, rotated, archived, left].map(({ html }) => html),
      ...(await everything(opened)),
      stream(),
    ];
    const within = (text: string) => all.filter((one) => one.includes(text));
    expect(within(first)).toEqual([created.html]);
    expect(within(second)).toEqual([rotated.html]);
    // The secrets that the interface returned appear nowhere. Pieces longer than the hint appear only where the whole
    // secret does.
    for (const secret of opened.secrets) expect(within(secret.slice(6))).toEqual([]);
    expect(within(first.slice(-8))).toEqual([created.html]);
    expect(within(second.slice(-8))).toEqual([rotated.html]);
    expect(all.filter((one) => one.includes(`whsec_…${second.slice(-4)}`))).not.toEqual([]);
  });

  test("has a fingerprint on the page, which no response to a delivery has", async () => {
    const opened = await openPage();
    const other = "whsec_0123456789abcdef0123456789abcdef";
    const logged: string[] = [];
    const log = (text: string) => void logged.push(text);
    const strict = createReceiver({ secret: other, on: { "*": () => {} }, log });
    const responses: string[] = [];
    opened.sandbox.deliverTo(async (request) => {
      const response = await strict.fetch(request);
      responses.push(JSON.stringify([...response.headers]) + (await response.clone().text()));
      return response;
    });
    const { secret } = await opened.register("http://localhost:3000/webhooks");
    await opened.send();
    await opened.settle();
    const { id } = present((await opened.deliveries())[0]);
    const [own, its] = [await fingerprint(secret), await fingerprint(other)];
    const { dom } = await opened.get(`/?item=${id}`);
    expect(textOf(the(dom, "#signature"))).toContain(`fingerprint ${own}`);
    expect(logged.join("\n")).toContain(its);
    expect(responses).toEqual([expect.stringContaining("signature_mismatch")]);
    for (const text of [own, its]) expect(responses.join("\n")).not.toContain(text);
  });

  test("is created once, however often its form is sent", async () => {
    const opened = await openPage();
    const page = await opened.get();
    const fields = [...fieldsOf(formOf(page, "create-endpoint"))];
    expect(Object.fromEntries(fields)["token"]).toMatch(/^[\w-]{16}$/);
    const created = await opened.post("/?refresh=30", fields);
    expect(created.status).toBe(200);
    const again = await opened.post("/?refresh=30", fields);
    expect(again.status).toBe(303);
    expect(again.headers.get("location")).toBe("/?refresh=30#endpoints");
    expect((await opened.control("GET endpoints")).body.data).toHaveLength(1);
    expect((await opened.follow(again)).html).not.toMatch(/whsec_[\w+/]{4}/);
  });

  test("is rotated once, however often its form is sent", async () => {
    const opened = await openPage();
    await opened.endpoint("http://localhost:3000/");
    const page = await opened.get();
    const fields = [...fieldsOf(formOf(page, "rotate-secret"))];
    const hint = async () => (await opened.control("GET endpoints")).body.data[0]?.secret_hint;
    await opened.post("/", fields);
    const rotated = await hint();
    expect((await opened.post("/", fields)).status).toBe(303);
    expect(await hint()).toBe(rotated);
  });

  test.each(["", "short", "x".repeat(17), "spaces in token!"])(
    "is not created with the token %j",
    async (token) => {
      const opened = await openPage();
      const page = await opened.get();
      const fields = fieldsOf(formOf(page, "create-endpoint")).filter(([key]) => key !== "token");
      expect((await opened.post("/", fields)).status).toBe(303);
      expect((await opened.post("/", [...fields, ["token", token]])).status).toBe(303);
      expect((await opened.control("GET endpoints")).body.data).toEqual([]);
    },
  );

  test("can be created by each form of a page, and by the form of a refusal", async () => {
    const opened = await openPage();
    await opened.endpoint("http://localhost:3000/");
    const page = await opened.get();
    const rotated = await opened.submit(page, formOf(page, "rotate-secret"));
    const created = await opened.submit(page, formOf(page, "create-endpoint"));
    expect([rotated.status, created.status]).toEqual([200, 200]);
    const refused = await opened.submit(created, formOf(created, "create-endpoint"), { url: "x" });
    expect(refused.status).toBe(400);
    const corrected = await opened.submit(refused, formOf(refused, "create-endpoint"), registered);
    expect(corrected.status).toBe(200);
  });

  test("leaves the page by a link, and is in the commands next to it", async () => {
    const opened = await openPage();
    const page = await opened.get("/?q=x");
    const created = await opened.submit(page, formOf(page, "create-endpoint"));
    const { attrs } = the(created.dom, "#secret a.btn");
    const left = await opened.get(attrs.find(({ name }) => name === "href")?.value);
    expect(left.html).not.toMatch(/whsec_[\w+/]{4}/);
    expect(new URL(left.url).search).toBe("?q=x");
    const secret = textOf(the(created.dom, "#secret .whole"));
    expect(textOf(the(created.dom, "#receiver-code"))).toContain(`SVC_WEBHOOK_SECRET=${secret} `);
  });
});

describe("a signing secret of a scenario", () => {
  const request = (path: string, body: object) => ({ request: { method: "POST", path, body } });

  test.each(["whsec_ab+cd/efgh==", "whsec_q+/q"])("is on no page: %s", async (first) => {
    const data = join(outsideDirectory(), "data.sqlite");
    const second = `${first}-`;
    const steps = [
      {
        ...request("/v1/webhook-endpoints", { url: "{receiver}", event_types: ["email.sent"] }),
        capture: { endpoint: "webhook_endpoint.webhook_endpoint_id" },
      },
      request("/v1/webhook-endpoints/{endpoint}:rotate-secret", {}),
      request("/v1/emails", email),
    ];
    const assumptions = { "A-06": "allow", "A-19": "deferred:1h" };
    const scenario = { version: 1, name: "rotation", assumptions, steps };
    const { url: to } = await receiver();
    expect(await runScenario(scenario, { to, secrets: [first, second], data })).toMatchObject({
      met: true,
    });
    const opened = await openPage({ data });
    const all = await everything(opened);
    for (const secret of [first, second])
      expect(all.filter((text) => text.includes(secret.slice(6)))).toEqual([]);
    expect(all.filter((text) => text.includes("whsec_…"))).not.toEqual([]);
  });
});

describe("Cache-Control", () => {
  test("is no-store on every response but those of the assets", async () => {
    const opened = await openPage();
    const page = await opened.get();
    const refused = await opened.submit(page, formOf(page, "test-email"), {});
    const created = await opened.submit(page, formOf(page, "create-endpoint"));
    const unknown = await opened.post("/", [["do", "nothing"]]);
    const others = [
      "/?part=detail",
      "/?item=dlv_x",
      "/nothing",
      "/assets/x.js",
      "/_sandbox/overview",
    ];
    const replies = await Promise.all(others.map((address) => opened.get(address)));
    for (const { headers, url } of [page, refused, created, unknown, ...replies])
      expect([url, headers.get("cache-control")]).toEqual([url, "no-store"]);
    for (const selector of ["script", "link[rel=stylesheet]"]) {
      const { attrs } = the(page.dom, selector);
      const path = attrs.find(({ name }) => name === "src" || name === "href")?.value;
      expect(path).toMatch(/^\/assets\/[\w-]{12}\.(?:js|css)$/);
      const { status, headers } = await opened.get(path);
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    }
  });
});
