import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { choices, documentOf, operationsOf } from "./document.js";
import { allTypes, open } from "../support.js";

test.each(choices)("is a valid OpenAPI 3.1 document with $words", async ({ assumptions }) => {
  const document = await documentOf(await open({ assumptions }));
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...document });
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

test("is served without an API key", async () => {
  const { url } = await open();
  const response = await fetch(`${url}/openapi.json`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
});

test("is read only", async () => {
  const { url } = await open();
  const response = await fetch(`${url}/openapi.json`, { method: "POST" });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
});

test("shows no API key that A-23 accepts", async () => {
  const { url } = await open({ assumptions: { "A-23": "keys:svc_live_0123456789" } });
  const text = await (await fetch(`${url}/openapi.json`)).text();
  expect(text).not.toContain("svc_live_0123456789");
  expect(text).toContain("keys:…6789");
});

test("has exactly the ten operations of the interface", async () => {
  const operations = operationsOf(await documentOf(await open()));
  expect(operations.map(([name]) => name)).toEqual([
    "POST /v1/emails",
    "GET /v1/sends/{send_id}",
    "POST /v1/domains",
    "POST /v1/domains/{domain_id}:verify",
    "GET /v1/webhook-event-types",
    "POST /v1/webhook-endpoints",
    "GET /v1/webhook-events",
    "POST /v1/webhook-events/{event_id}:redeliver",
    "POST /v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret",
    "DELETE /v1/webhook-endpoints/{webhook_endpoint_id}",
  ]);
});

test("every operation requires the API key, and no webhook has one", async () => {
  const document = await documentOf(await open());
  expect(document.security).toEqual([{ bearer: [] }]);
  expect(document.components.securitySchemes).toMatchObject({
    bearer: { type: "http", scheme: "bearer" },
  });
  for (const [, operation] of operationsOf(document)) {
    expect(operation.security).toBeUndefined();
    expect(operation.responses).toHaveProperty("401");
    expect(operation.responses).toHaveProperty("429");
  }
  for (const { post } of Object.values(document.webhooks)) expect(post.security).toEqual([]);
});

/** Returns the values of a key, anywhere in a document. */
function valuesOf(key: string, value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === key ? [inner] : valuesOf(key, inner),
  );
}

test("each assumed part names an assumption of the ledger", async () => {
  const running = await open();
  const document = await documentOf(running);
  const ids = running.sandbox.assumptions().map(({ id }) => id as string);
  const named = valuesOf("x-assumption", document.paths)
    .concat(valuesOf("x-assumption", document.components))
    .concat(valuesOf("x-assumption", document.webhooks));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((id) => !ids.includes(String(id)))).toEqual([]);
  expect(document.info["x-assumptions"].map(({ id }) => id)).toEqual(ids);
});

test("marks every success status as assumed but 202 of POST /v1/emails", async () => {
  const documented = operationsOf(await documentOf(await open())).flatMap(([name, operation]) =>
    Object.entries(operation.responses)
      .filter(([status, response]) => status.startsWith("2") && !response["x-assumption"])
      .map(([status]) => `${name} ${status}`),
  );
  expect(documented).toEqual(["POST /v1/emails 202"]);
});

test("has a webhook with the six delivery headers for each event type", async () => {
  const { webhooks } = await documentOf(await open({ assumptions: { "A-03": "extra:a.b" } }));
  expect(Object.keys(webhooks)).toEqual([...allTypes, "a.b"]);
  for (const { post } of Object.values(webhooks)) {
    expect(post.parameters.map(({ name, required }) => [name, required])).toEqual([
      ["X-SVC-Signature", true],
      ["X-SVC-Delivery-Id", true],
      ["Idempotency-Key", true],
      ["X-SVC-Subscription-Id", true],
      ["X-SVC-Event-Id", true],
      ["X-SVC-Attempt", true],
    ]);
    expect(Object.keys(post.responses)).toEqual(["2XX", "default"]);
    expect(post.responses["default"]?.description).toContain("1 s, 5 s, 15 s, 60 s");
  }
});
