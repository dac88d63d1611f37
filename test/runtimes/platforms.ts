import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createClient } from "@svc-webhooks/client";
import { nextDev, nextStart, type Served } from "@svc-webhooks/kit/launch";
import { until } from "@svc-webhooks/kit/until";
import { createSandbox } from "@svc-webhooks/sandbox";
import { signedDelivery } from "@svc-webhooks/testing";
import { apiKey, expectedResults, type ClientResults } from "./apps/client.js";
import * as launch from "./launch.js";
import { next15Project } from "./next15.js";

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
  /** Whether it needs a download or takes long, so that only the matrix runs it. */
  readonly onlyInMatrix?: boolean;
  /** More checks of its server. */
  readonly checks: readonly Check[];
}

const web = { Hono: "Hono", "receiver.fetch": "fetch" };
const node = {
  "node:http": "node-http",
  "Express 4": "express4",
  "Express 5": "express5",
  ...web,
};
const nextRouters = {
  "Next.js App Router, Node": "next-node",
  "Next.js App Router, edge": "next-edge",
  "Next.js Pages Router": "api/next-pages",
};
const nextApp = fileURLToPath(new URL("next", import.meta.url));
const onlyInMatrix = true;

const core: Check = {
  title: "the core behaves the same inside the runtime",
  async check({ origin }) {
    deepEqual(await (await fetch(`${origin}/portable`)).json(), []);
  },
};

interface Timeline {
  readonly data: readonly { readonly send?: { readonly id: string } }[];
}

/** The client inside the runtime, which calls a sandbox here. The first two responses are lost. */
const client = (attempts = 3): Check => ({
  title: "the client behaves the same inside the runtime, whose console prints no secret",
  async check({ origin, printed }) {
    const sandbox = createSandbox({ assumptions: { "A-06": "allow" } });
    try {
      const { url } = await sandbox.listen(0);
      const service = createClient({ apiKey: "svc_test", baseUrl: url });
      const fault = { target: "POST /v1/emails", kind: "answer_lost", times: 2 };
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

/** An edge route receives only the first 10 MB of a body, without an error (trap 43). */
const largeBody: Check = {
  title: "trap 43: reports a body that Next.js cuts as unavailable, not as forged",
  async check({ origin }) {
    const url = `${origin}/next-large`;
    const event = { type: "email.sent", html: "x".repeat(11_000_000) };
    const response = await fetch(url, await signedDelivery(event));
    match(await response.text(), /"body_unavailable"/);
    const [line] = (await (await fetch(url)).json()) as string[];
    match(line ?? "", /cut to 10\d{6} of 11\d{6} bytes; .*experimental\.proxyClientMaxBodySize/);
  },
};

const nextServers = [
  { runtime: "next start", start: () => nextStart(nextApp) },
  { runtime: "next dev", start: () => nextDev(nextApp), onlyInMatrix },
  { runtime: "next start (15)", start: async () => nextStart(await next15Project()), onlyInMatrix },
].map((server) => ({ ...server, adapters: nextRouters, checks: [largeBody] }));

export const platforms: readonly Platform[] = [
  { runtime: "Node", adapters: node, start: launch.hostNode, checks: [core, client()] },
  ...[22, 24, 26].map((major) => ({
    runtime: `Node ${major}`,
    adapters: node,
    start: () => launch.nodeVersion(major),
    checks: [core, client()],
    onlyInMatrix,
  })),
  { runtime: "Bun", adapters: web, start: launch.bun, checks: [core, client()] },
  // Deno's `fetch` repeats a request whose connection is closed (https://github.com/denoland/deno/issues/35610).
  { runtime: "Deno", adapters: web, start: launch.deno, checks: [core, client(2)] },
  { runtime: "workerd", adapters: web, start: launch.workerd, checks: [core, client()] },
  { runtime: "edge-runtime", adapters: web, start: launch.edge, checks: [core, client()] },
  ...nextServers,
];
