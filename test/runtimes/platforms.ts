import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { createClient } from "@svc-webhooks/client";
import type { Served } from "@svc-webhooks/kit/launch";
import { until } from "@svc-webhooks/kit/until";
import { createSandbox } from "@svc-webhooks/sandbox";
import { apiKey, expectedResults, type ClientResults } from "./apps/client.js";
import { expectedSchemeResults } from "./apps/schemes.js";
import { hostNode } from "./launch.js";

interface Check {
  readonly title: string;
  /** Rejects if the check fails for the server. */
  readonly check: (server: Served) => Promise<void>;
}

/** A server that the contract runs against, with several adapters mounted in it. */
export interface Platform {
  readonly runtime: string;
  /** The path of each adapter, by the adapter's name. */
  readonly adapters: Readonly<Record<string, string>>;
  readonly start: () => Promise<Served>;
  /** Additional checks of the server. */
  readonly checks: readonly Check[];
}

export const web = { Hono: "Hono", "receiver.fetch": "fetch" };
const node = {
  "node:http": "node-http",
  "Express 4": "express4",
  "Express 5": "express5",
  Fastify: "fastify",
  "Nest on Express": "nest-express",
  "Nest on Fastify": "nest-fastify",
  ...web,
};
export const core: Check = {
  title: "the core behaves the same inside the runtime",
  async check({ origin }) {
    deepEqual(await (await fetch(`${origin}/portable`)).json(), []);
  },
};

/** Signs and receives inside the runtime, because it verifies with its own WebCrypto. */
export const schemes: Check = {
  title: "every scheme processes a delivery once and refuses a forgery inside the runtime",
  async check({ origin }) {
    deepEqual(await (await fetch(`${origin}/schemes`)).json(), expectedSchemeResults);
  },
};

interface Timeline {
  readonly data: readonly { readonly send?: { readonly id: string } }[];
}

/** Runs the client inside the runtime, calling a sandbox here. The first two responses are lost. */
export const client = (attempts = 3): Check => ({
  title: "the client behaves the same inside the runtime, whose console prints no secret",
  async check({ origin, printed }) {
    const sandbox = createSandbox({ assumptions: { "A-06": "allow" } });
    try {
      const { url } = await sandbox.listen(0);
      const service = createClient({ apiKey: "svc_test", baseUrl: url });
      const fault = { target: "POST /v1/emails", kind: "response_lost", times: 2 };
      await service.request("POST", "/_sandbox/faults", { body: fault });
      const query = new URLSearchParams({ service: url, ...(printed && { prints: "yes" }) });
      const response = await fetch(`${origin}/client?${query}`);
      const { secret, ...results } = (await response.json()) as ClientResults;
      deepEqual(results, { ...expectedResults, attempts });
      match(secret, /^whsec_/);
      const { data } = await service.request<Timeline>("GET", "/_sandbox/timeline");
      equal(new Set(data.flatMap(({ send }) => send?.id ?? [])).size, 1);
      if (!printed) return;
      await until(() => printed().includes("Printed."), "the console's output arrives");
      match(printed(), /\bwe_\w+[^]*\bNotFoundError\b/);
      doesNotMatch(printed(), new RegExp(`${secret}|${apiKey}`));
    } finally {
      await sandbox.close();
    }
  },
});

/** Returns the platform of Node's adapters on one of its versions. */
export const onNode = (runtime: string, start: Platform["start"]): Platform => ({
  runtime,
  adapters: node,
  start,
  checks: [core, schemes, client()],
});

/** The platform of the Node that runs the tests. */
export const host: Platform = onNode("Node", hostNode);
