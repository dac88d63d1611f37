import { deepEqual, match } from "node:assert/strict";
import { signedRequest } from "@svc-webhooks/testing";
import * as launch from "./launch.js";
import { next15Project } from "./next15.js";

interface Check {
  readonly title: string;
  /** Rejects if it is not true of the server at `origin`. */
  readonly check: (origin: string) => Promise<void>;
}

/** Where the contract is run: a server with several adapters mounted in it. */
export interface Platform {
  readonly runtime: string;
  /** Adapters by their names, each with the path that it is mounted under. */
  readonly adapters: Readonly<Record<string, string>>;
  readonly start: () => Promise<launch.Served>;
  /** Whether it needs what only the matrix fetches, or takes long. */
  readonly onlyInMatrix?: boolean;
  /** What else is true of its server. */
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
const onlyInMatrix = true;

const core: Check = {
  title: "the core is the same inside",
  async check(origin) {
    deepEqual(await (await fetch(`${origin}/portable`)).json(), []);
  },
};

/** Beyond 10 MB an edge route gets a part of the body, and nobody says so (trap 43). */
const cutting: Check = {
  title: "trap 43: a body that Next.js cuts is told from a forged one",
  async check(origin) {
    const url = `${origin}/next-large`;
    const request = await signedRequest(
      { type: "email.sent", html: "x".repeat(11_000_000) },
      { url },
    );
    const answered = await fetch(url, {
      method: "POST",
      headers: request.headers,
      body: await request.arrayBuffer(),
    });
    match(await answered.text(), /"body_unavailable"/);
    const [line] = (await (await fetch(url)).json()) as string[];
    match(line ?? "", /cut to 10\d{6} of 11\d{6} bytes; .*experimental\.proxyClientMaxBodySize/);
  },
};

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
  {
    runtime: "next start",
    adapters: nextRouters,
    start: () => launch.nextStart(),
    checks: [cutting],
  },
  {
    runtime: "next dev",
    adapters: nextRouters,
    start: () => launch.nextDev(),
    checks: [cutting],
    onlyInMatrix,
  },
  {
    runtime: "next start (15)",
    adapters: nextRouters,
    start: async () => launch.nextStart(await next15Project()),
    checks: [cutting],
    onlyInMatrix,
  },
];
