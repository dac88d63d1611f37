import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect, test } from "vitest";
import { choices, documentOf, operationsOf, type Document } from "./document.js";
import type { BodyOf, WebhookEvent } from "@svc-webhooks/kit/sandbox-responses";
import { allTypes, email, receiver, open, type Reply, type Opened } from "../support.js";

/** Forbids properties that a schema does not list, so that undocumented fields in responses are detected. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, closed(part)]));
  const isClosable = copy["type"] === "object" && copy["properties"] !== undefined;
  return isClosable ? { ...copy, additionalProperties: false } : copy;
}

/** Returns a function that validates a value with the schema at a given place in the document. */
function matcher(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(closed(document) as object, "document");
  return (place: readonly string[], value: unknown) => {
    const pointer = place.map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"));
    const check = ajv.compile({ $ref: `document#/${pointer.map(encodeURIComponent).join("/")}` });
    check(value);
    return check.errors ?? [];
  };
}

/** Returns the first item of a list in either shape of A-15. */
const firstOf = (list: BodyOf<"GET /v1/webhook-events"> | readonly WebhookEvent[]) =>
  "data" in list ? list.data[0] : list[0];

/** Makes calls that together receive each response of each operation, except 429, 503 and `default`. */
async function everyResponse(
  { call, settle }: Opened,
  operations: readonly string[],
  see: (operation: string, reply: Reply) => void,
): Promise<void> {
  const ask = async <Route extends string>(
    route: Route,
    body?: unknown,
    headers?: Record<string, string | null>,
  ) => {
    const [bare = ""] = route.split("?");
    const operation = operations.find((template) =>
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, String.raw`[\w{}]+`)}$`).test(bare),
    );
    const reply = await call(route, body, headers);
    see(operation ?? bare, reply);
    return reply.body;
  };
  const create = { url: (await receiver(500)).url, event_types: allTypes };
  const { webhook_endpoint: endpoint } = await ask("POST /v1/webhook-endpoints", create);
  const id = endpoint.webhook_endpoint_id;
  await ask("POST /v1/webhook-endpoints", create);
  const domain = { domain_name: "mail.example.test" };
  const { domain_id: domainId } = await ask("POST /v1/domains", domain);
  const key = { "idempotency-key": "one" };
  const { send_id: sendId } = await ask("POST /v1/emails", email, key);
  await settle();
  const list = await ask("GET /v1/webhook-events?limit=1");
  const own = await ask(`GET /v1/webhook-events?webhook_endpoint_id=${id}`);
  const ownEvent = `POST /v1/webhook-events/${firstOf(own)?.event_id}:redeliver?webhook_endpoint_id=${id}`;
  const steps: readonly Parameters<typeof ask>[] = [
    ["POST /v1/webhook-endpoints", { url: "ftp://x", event_types: ["x"] }],
    ["POST /v1/domains", domain],
    ["POST /v1/domains", {}],
    [`POST /v1/domains/${domainId}:verify`],
    ["POST /v1/domains/dom_none:verify"],
    ["POST /v1/emails", { ...email, subject: "Other" }, key],
    ["POST /v1/emails", { ...email, message_class: "marketing" }],
    ["POST /v1/emails", {}],
    ["POST /v1/emails", email, { "idempotency-key": null }],
    ...["emails", "domains", "webhook-endpoints"].flatMap((name): Parameters<typeof ask>[] => [
      [`POST /v1/${name}`, email, { "content-type": "text/plain" }],
      [`POST /v1/${name}`, " ".repeat(1_048_577)],
    ]),
    [`GET /v1/sends/${sendId}`],
    ["GET /v1/sends/send_none"],
    ["GET /v1/webhook-event-types"],
    ["GET /v1/webhook-events?limit=0"],
    ["GET /v1/webhook-events?webhook_endpoint_id=we_none"],
    [`POST /v1/webhook-events/${firstOf(list)?.event_id}:redeliver`],
    [ownEvent],
    ["POST /v1/webhook-events/evt_none:redeliver"],
    [`POST /v1/webhook-endpoints/${id}:rotate-secret`],
    ["POST /v1/webhook-endpoints/we_none:rotate-secret"],
    [`DELETE /v1/webhook-endpoints/${id}`],
    ["DELETE /v1/webhook-endpoints/we_none"],
    [`POST /v1/webhook-endpoints/${id}:rotate-secret`],
    [ownEvent],
    ...operations.map((route): Parameters<typeof ask> => [
      route,
      undefined,
      { authorization: null },
    ]),
  ];
  for (const step of steps) await ask(...step);
}

test.each(choices)(
  "every response of a running sandbox matches its schema with $words",
  async ({ assumptions }) => {
    const running = await open({ assumptions });
    const document = await documentOf(running);
    const errorsOf = matcher(document);
    const seen = new Set<string>();
    const see = (operation: string, { status, headers, text, body }: Reply) => {
      const [method = "", path = ""] = operation.split(" ");
      const place = ["paths", path, method.toLowerCase(), "responses", String(status)];
      const type = headers.get("content-type") ?? "";
      seen.add(`${operation} ${status}`);
      expect({
        operation,
        status,
        id: headers.get("x-request-id")?.slice(0, 5),
        errors: text === "" ? [] : errorsOf([...place, "content", type, "schema"], body),
      }).toEqual({ operation, status, id: "call_", errors: [] });
    };
    const names = operationsOf(document).map(([name]) => name);
    await everyResponse(running, names, see);

    const documented = operationsOf(document).flatMap(([name, { responses }]) =>
      Object.keys(responses)
        .filter((status) => !["429", "503", "default"].includes(status))
        .map((status) => `${name} ${status}`),
    );
    // Under `422`, 409 is returned only while the first request with the same key is still running.
    if (assumptions["A-14"] === "422") seen.add("POST /v1/emails 409");
    expect([...seen].toSorted()).toEqual(documented.toSorted());
  },
);

test("429 and 503 match their schemas, and have their headers", async () => {
  const limited = await open({ assumptions: { "A-16": "epoch:1/1m" } });
  const document = await documentOf(limited);
  const errorsOf = matcher(document);
  const responses = ["paths", "/v1/emails", "post", "responses"];
  const schema = ["content", "application/json", "schema"];
  const namesIn = (status: number) =>
    Object.keys(document.paths["/v1/emails"]?.["post"]?.responses[status]?.headers ?? {});

  const first = await limited.call("POST /v1/emails", email);
  expect(first.status).toBe(202);
  expect(namesIn(202).filter((name) => !first.headers.has(name))).toEqual([]);
  expect(namesIn(202)).toContain("X-RateLimit-Reset");
  const second = await limited.call("POST /v1/emails", email);
  expect(second.status).toBe(429);
  expect(errorsOf([...responses, "429", ...schema], second.body)).toEqual([]);
  expect(namesIn(429).filter((name) => !second.headers.has(name))).toEqual([]);
  expect(namesIn(429)).toContain("X-RateLimit-Reset");

  const full = await open({ maxDeliveries: 1 });
  const { url } = await receiver(500);
  await full.call("POST /v1/webhook-endpoints", { url, event_types: allTypes });
  let last: Reply | undefined;
  for (let n = 0; n < 8 && last?.status !== 503; n += 1) {
    last = await full.call("POST /v1/emails", email);
    await full.sandbox.clock.advance(0);
  }
  expect(last?.status).toBe(503);
  expect(errorsOf([...responses, "503", ...schema], last?.body)).toEqual([]);
  expect(last?.headers.get("retry-after")).toBe("5");
});

test.each(["envelope", "short", "bare"])(
  "deliveries match the webhooks section with the body %s",
  async (shape) => {
    const running = await open({ assumptions: { "A-07": shape } });
    const { call, sandbox } = running;
    const document = await documentOf(running);
    const errorsOf = matcher(document);
    for (const type of allTypes) {
      const { url, got } = await receiver();
      await call("POST /v1/webhook-endpoints", { url, event_types: [type] });
      const { body } = await call("POST /v1/domains", { domain_name: "mail.example.test" });
      await call(`POST /v1/domains/${body.domain_id}:verify`);
      await call("POST /v1/emails", email);
      await sandbox.clock.advance(0);
      const [request] = got;
      const place = ["webhooks", type, "post"];
      const content = [...place, "requestBody", "content", "application/json", "schema"];
      expect(errorsOf(content, JSON.parse(String(request?.body)))).toEqual([]);
      const errors = document.webhooks[type]?.post.parameters.map(({ name }, index) => {
        const text = request?.headers[name.toLowerCase()];
        const value = name === "X-SVC-Attempt" ? Number(text) : text;
        return errorsOf([...place, "parameters", String(index), "schema"], value);
      });
      expect(errors).toEqual([[], [], [], [], [], []]);
    }
  },
);

test.each([
  ["the usual email", email, true],
  ["html alone", { ...email, text: undefined }, true],
  ["300 code points of subject", { ...email, subject: "📨".repeat(300) }, true],
  ["301 code points of subject", { ...email, subject: "📨".repeat(301) }, false],
  ["neither html nor text", { ...email, html: undefined, text: undefined }, false],
  ["no recipient", { ...email, to: [] }, false],
  ["a recipient that is not in an array", { ...email, to: "ada@example.test" }, false],
  ["an address without a domain", { ...email, from: "ada" }, false],
  ["a line break in the subject", { ...email, subject: "a\r\nBcc: b@example.test" }, false],
  ["another message class", { ...email, message_class: "marketing" }, false],
])("the schema of an email agrees with the sandbox about %s", async (_name, body, isValid) => {
  const running = await open();
  const errorsOf = matcher(await documentOf(running));
  const sent = JSON.parse(JSON.stringify(body)) as unknown;
  expect(errorsOf(["components", "schemas", "EmailRequest"], sent).length === 0).toBe(isValid);
  expect((await running.call("POST /v1/emails", body)).status).toBe(isValid ? 202 : 400);
});

test.each([
  [1, true],
  [256, true],
  [257, false],
])(
  "the schema of Idempotency-Key agrees with the sandbox about %i characters",
  async (length, isValid) => {
    const running = await open();
    const errorsOf = matcher(await documentOf(running));
    const place = ["paths", "/v1/emails", "post", "parameters", "0", "schema"];
    const key = "k".repeat(length);
    expect(errorsOf(place, key).length === 0).toBe(isValid);
    const { status } = await running.send({}, { "idempotency-key": key });
    expect(status).toBe(isValid ? 202 : 400);
  },
);
