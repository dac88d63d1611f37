import { match } from "node:assert/strict";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { spawned, type Served } from "@svc-webhooks/kit/launch";
import { nextDev, nextStart } from "@svc-webhooks/kit/next";
import { npxStart } from "@svc-webhooks/kit/npx";
import { signedDelivery } from "@svc-webhooks/testing";
import { edge, script, workerd } from "./launch.js";
import { next15Project } from "./next15.js";
import { client, core, host, onNode, schemes, web, type Platform } from "./platforms.js";

const require = createRequire(import.meta.url);

const bun = async (): Promise<Served> =>
  spawned(require.resolve("bun/bin/bun.exe"), await script("bun"));

const deno = async (): Promise<Served> =>
  spawned(
    process.execPath,
    require.resolve("deno/bin.cjs"),
    "run",
    "--no-remote",
    "--node-modules-dir=manual",
    "--allow-all",
    await script("deno"),
  );

/** Returns a Node of a version other than the one that runs the tests, downloaded if necessary. */
const nodeVersion = (major: number) => async () =>
  spawned(...npxStart, "-y", "-p", `node@${major}`, "node", await script("node"));

const nextRouters = {
  "Next.js App Router, Node": "next-node",
  "Next.js App Router, edge": "next-edge",
  "Next.js Pages Router": "api/next-pages",
};
const nextApp = fileURLToPath(new URL("next", import.meta.url));

/** Checks a large body: an edge route receives only its first 10 MB, without an error (trap 43). */
const largeBody: Platform["checks"][number] = {
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
  { runtime: "next dev", start: () => nextDev(nextApp) },
  { runtime: "next start (15)", start: async () => nextStart(await next15Project()) },
].map((server) => ({ ...server, adapters: nextRouters, checks: [largeBody] }));

/** All platforms, in the order of the table. */
export const everyPlatform: readonly Platform[] = [
  host,
  ...[22, 24, 26].map((major) => onNode(`Node ${major}`, nodeVersion(major))),
  { runtime: "Bun", adapters: web, start: bun, checks: [core, schemes, client()] },
  // Deno's `fetch` repeats a request whose connection is closed (https://github.com/denoland/deno/issues/35610).
  { runtime: "Deno", adapters: web, start: deno, checks: [core, schemes, client(2)] },
  { runtime: "workerd", adapters: web, start: workerd, checks: [core, schemes, client()] },
  { runtime: "edge-runtime", adapters: web, start: edge, checks: [core, schemes, client()] },
  ...nextServers,
];
