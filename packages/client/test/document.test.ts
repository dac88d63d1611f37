import { createSandbox } from "@svc-webhooks/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { createClient, type Client, type List } from "../src/index.js";
import { differencesOf, type Compared } from "./compare.js";
import type { Methods } from "./differences.js";
import type { Document, OperationObject, Schema } from "./document-types.js";

// The sandbox's OpenAPI document is the source of the client's types and operations.

const sandbox = createSandbox();
const response = await sandbox.fetch(new Request("http://sandbox.test/openapi.json"));
const document = (await response.json()) as Document;
await sandbox.close();

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
);

/** A change of the document or of the client, and the differences that the comparison reports. */
interface Drift {
  readonly what: string;
  readonly change: Partial<Compared>;
  readonly reported: string;
}

const inDocument = (
  what: string,
  reported: string,
  replace: (document: Document) => Partial<Document>,
): Drift => ({
  what,
  reported,
  change: { document: { ...document, ...replace(document) } },
});

const inClient = (client: string, reported: string): Drift => ({
  what: client,
  reported,
  change: { client },
});

/** Changes one schema of the document. */
const inSchema = (
  name: string,
  what: string,
  reported: string,
  replace: (schema: Schema) => Partial<Schema>,
) =>
  inDocument(`${name} ${what}`, reported, ({ components: { schemas } }) => {
    const schema = schemas[name] ?? {};
    return { components: { schemas: { ...schemas, [name]: { ...schema, ...replace(schema) } } } };
  });

/** Changes one operation of the document; undefined removes it. */
const inOperation = (
  path: string,
  method: string,
  reported: string,
  replace: (operation: OperationObject) => Partial<OperationObject> | undefined,
) =>
  inDocument(`${method} ${path}`, reported, ({ paths }) => {
    const { [method]: operation, ...others } = paths[path] ?? {};
    if (!operation) throw new Error(`There is no ${method} ${path}.`);
    const replaced = replace(operation);
    const methods = replaced ? { ...others, [method]: { ...operation, ...replaced } } : others;
    return { paths: { ...paths, [path]: methods } };
  });

const schemaNames = Object.keys(document.components.schemas).filter((name) => name !== "Error");
const text = { type: "string" };
const color = { name: "color", required: true, schema: text } as const;

const drifts: readonly Drift[] = [
  ...schemaNames.flatMap((name) => {
    const [first = ""] = Object.keys(document.components.schemas[name]?.properties ?? {});
    return [
      inSchema(name, "with a new member", "color is in the document only", ({ properties }) => ({
        properties: { ...properties, color: text },
      })),
      inSchema(name, `with another ${first}`, `${first} has another type`, ({ properties }) => ({
        properties: { ...properties, [first]: { type: "boolean" } },
      })),
      inSchema(name, `without ${first}`, `${first} is not in the document`, (schema) => {
        const { [first]: _, ...properties } = schema.properties ?? {};
        return { properties, required: (schema.required ?? []).filter((one) => one !== first) };
      }),
    ];
  }),
  inSchema("Domain", "with a required member", "verified_at is optional on one side only", () => ({
    required: ["domain_id", "domain_name", "status", "created_at", "verified_at"],
  })),
  inSchema("WebhookEvent", "with a new status", "status has another type", ({ properties }) => ({
    properties: { ...properties, status: { enum: ["pending", "attempting", "succeeded"] } },
  })),
  inSchema("EmailRequest", "that may be empty", "needs no more than message_class", () => ({
    anyOf: [{}],
  })),
  ...operations.flatMap(({ path, method, operationId }) => [
    inOperation(path, method, `${operationId} is not in the document`, () => undefined),
    inOperation(path, method, `color is in the document only`, ({ parameters }) => ({
      parameters: [...parameters, { ...color, in: "query" }],
    })),
    inOperation(path, method, `has other arguments`, ({ parameters }) => ({
      parameters: [...parameters, { ...color, in: "path" }],
    })),
    inOperation(path, method, `${operationId}Now has no method`, () => ({
      operationId: `${operationId}Now`,
    })),
  ]),
  inOperation("/v1/emails", "post", "header.Idempotency-Key is not in the document", () => ({
    parameters: [],
  })),
  inClient('Omit<Client, "sends">', "sends.get has no method"),
  inClient('With<"sends", { cancel: () => void }>', "sends.cancel has no operation"),
  inClient(
    'With<"sends", { get: (id: string, now: string, options?: Api.RequestOptions) => Promise<Api.SendStatus> }>',
    "sends.get has other arguments",
  ),
  inClient(
    'With<"sends", { get: (id: string, options?: Api.RequestOptions) => Promise<Api.SendStatus & { color: string }> }>',
    "sends.get result.color is not in the document",
  ),
  inClient(
    'With<"domains", { create: (domain: Api.DomainRequest & { color?: string }, options?: Api.RequestOptions) => Promise<Api.Domain> }>',
    "domains.create body.color is not in the document",
  ),
  inClient(
    'With<"webhookEventTypes", { list: (options?: Api.RequestOptions) => Promise<Api.WebhookEventType[]> }>',
    "webhookEventTypes.list result",
  ),
];

const [same, ...found] = differencesOf([
  { document },
  ...drifts.map(({ change }) => ({ document, ...change })),
]);

test("the types of the client and the document are the same", () => {
  expect(same).toEqual([]);
});

test.each(drifts.map((drift, index) => ({ ...drift, sentences: found[index] ?? [] })))(
  "reports $what: … $reported …",
  ({ sentences, reported }) => {
    expect(sentences.filter((sentence) => sentence.includes(reported))).not.toEqual([]);
  },
);

const firstPage = (list: List<unknown>) => list.pages()[Symbol.asyncIterator]().next();

/** Calls of each operation, with every member that it may carry. */
const calls: Readonly<Record<keyof Methods, (client: Client) => PromiseLike<unknown>>> = {
  sendEmail: ({ emails }) =>
    emails.send({ from: "ada@example.test", to: ["b@example.test"], subject: "Hi", text: "Hi" }),
  getSend: ({ sends }) => sends.get("send_1"),
  createDomain: ({ domains }) => domains.create({ domain_name: "example.test" }),
  verifyDomain: ({ domains }) => domains.verify("dom_1"),
  listWebhookEventTypes: ({ webhookEventTypes }) => firstPage(webhookEventTypes.list()),
  createWebhookEndpoint: ({ webhookEndpoints }) =>
    webhookEndpoints.create({ url: "http://localhost:9/", event_types: ["email.sent"] }),
  rotateWebhookEndpointSecret: ({ webhookEndpoints }) => webhookEndpoints.rotateSecret("we_1"),
  archiveWebhookEndpoint: ({ webhookEndpoints }) => webhookEndpoints.archive("we_1"),
  listWebhookEvents: ({ webhookEvents }) =>
    firstPage(webhookEvents.list({ webhook_endpoint_id: "we_1", limit: 1, after: "a" })),
  redeliverWebhookEvent: ({ webhookEvents }) =>
    webhookEvents.redeliver("evt_1", { webhook_endpoint_id: "we_1" }),
};

test.each(operations)(
  "$operationId is a request as the document describes it",
  async (documented) => {
    const running = createSandbox({ log: () => {} });
    onTestFinished(() => running.close());
    const { url: baseUrl } = await running.listen(0);
    const requests: Request[] = [];
    const client = createClient({
      apiKey: "svc_test",
      baseUrl,
      fetch(url, init) {
        requests.push(new Request(url, init));
        return fetch(url, init);
      },
    });
    // Some ids do not exist.
    await calls[documented.operationId as keyof Methods](client).then(undefined, () => {});

    const [request, ...others] = requests;
    expect(others).toEqual([]);
    const { pathname, searchParams } = new URL(request?.url ?? "");
    const named = (place: string) =>
      documented.parameters.filter((one) => one.in === place).map(({ name }) => name);
    const pattern = documented.path.replaceAll(/\{\w+\}/g, String.raw`[\w]+`);
    expect(pathname).toMatch(new RegExp(`^${pattern}$`));
    expect({
      method: request?.method.toLowerCase(),
      query: [...searchParams.keys()],
      hasKey: request?.headers.has("idempotency-key"),
      hasBody: request?.headers.has("content-type"),
    }).toEqual({
      method: documented.method,
      query: named("query"),
      hasKey: named("header").includes("Idempotency-Key"),
      hasBody: documented.requestBody !== undefined,
    });
  },
);
