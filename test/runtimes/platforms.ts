import { deepEqual, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { nextDev, nextStart, type Served } from "@svc-webhooks/kit/launch";
import { signedDelivery } from "@svc-webhooks/testing";
import * as launch from "./launch.js";
import { next15Project } from "./next15.js";

interface Check {
  readonly title: string;
  /** Rejects if the check fails for the server at `origin`. */
  readonly check: (origin: string) => Promise<void>;
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
  async check(origin) {
    deepEqual(await (await fetch(`${origin}/portable`)).json(), []);
  },
};

/** An edge route receives only the first 10 MB of a body, without an error (trap 43). */
const largeBody: Check = {
  title: "trap 43: reports a body that Next.js cuts as unavailable, not as forged",
  async check(origin) {
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
  { runtime: "Node", adapters: node, start: launch.hostNode, checks: [core] },
  ...[22, 24, 26].map((major) => ({
    runtime: `Node ${major}`,
    adapters: node,
    start: () => launch.nodeVersion(major),
    checks: [core],
    onlyInMatrix,
  })),
  { runtime: "Bun", adapters: web, start: launch.bun, checks: [core] },
  { runtime: "Deno", adapters: web, start: launch.deno, checks: [core] },
  { runtime: "workerd", adapters: web, start: launch.workerd, checks: [core] },
  { runtime: "edge-runtime", adapters: web, start: launch.edge, checks: [core] },
  ...nextServers,
];
