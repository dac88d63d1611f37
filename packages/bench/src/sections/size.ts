import { fileURLToPath } from "node:url";
import type { Bar, Race } from "../race.js";
import type { RunSection } from "../section.js";
import { gzippedBytes, type Deployed } from "../size/bundle.js";
import { importByTurns } from "../size/start.js";

/** A module that has all that others export. */
const all = (...modules: readonly string[]) =>
  modules.map((module) => `export * from ${JSON.stringify(module)};`).join("\n");

const core = `export { createReceiver } from "@svc-webhooks/core";\n`;

/** What a test of this repository deploys, and limits as well. */
function deployed(file: string): Deployed {
  const path = fileURLToPath(new URL(`../../../../${file}`, import.meta.url));
  const code = `${all(path)}\nexport { default } from ${JSON.stringify(path)};`;
  return { code, beside: /^(?:hono|cloudflare:workers)$/ };
}

const alone: Readonly<Record<string, Deployed>> = {
  "svc-webhooks": { code: `export { sign, verify } from "@svc-webhooks/core";` },
  "@octokit/webhooks-methods": { code: all("@octokit/webhooks-methods") },
  standardwebhooks: { code: `export { Webhook } from "standardwebhooks";` },
  // A deep import: by its own name the package comes as a whole.
  "svix, its Webhook": { code: `export { Webhook } from "svix/dist/webhook.js";` },
};

const whole: Readonly<Record<string, Deployed>> = {
  "svc-webhooks": { code: all("@svc-webhooks/core") },
  "@octokit/webhooks": { code: all("@octokit/webhooks") },
  svix: { code: `export { Svix, Webhook } from "svix";` },
  stripe: { code: `export { default } from "stripe";` },
  "@hookflo/tern, on Node": {
    code: `export { WebhookVerificationService } from "@hookflo/tern";`,
    on: "node",
  },
};

const workers: Readonly<Record<string, Deployed>> = {
  "createReceiver alone": { code: core },
  "Hono adapter + core": deployed("test/runtimes/workers/user.ts"),
  "Hono adapter + Durable Objects + core": deployed("packages/cloudflare/test/user.ts"),
  "Next.js adapter + core": { code: core + all("@svc-webhooks/next"), beside: /^next\// },
};

const servers: Readonly<Record<string, Deployed>> = {
  "createReceiver alone": { code: core, on: "node" },
  "Redis store + core": { code: core + all("@svc-webhooks/redis"), on: "node" },
  "Node adapter + core": { code: core + all("@svc-webhooks/node"), on: "node" },
  "Express adapter + core": {
    code: core + all("@svc-webhooks/express"),
    on: "node",
  },
  "Pages Router adapter + core": {
    code: core + all("@svc-webhooks/next/pages"),
    on: "node",
  },
  "events + core": { code: core + all("@svc-webhooks/events"), on: "node" },
  "events + core, beside zod": {
    code: core + all("@svc-webhooks/events"),
    on: "node",
    beside: /^zod$/,
  },
};

const modules: Readonly<Record<string, string>> = {
  "an empty module": "data:text/javascript,",
  "node:crypto": "node:crypto",
  "@svc-webhooks/core": "@svc-webhooks/core",
  "@svc-webhooks/redis": "@svc-webhooks/redis",
  "@svc-webhooks/events": "@svc-webhooks/events",
  "@svc-webhooks/node": "@svc-webhooks/node",
  "@svc-webhooks/express": "@svc-webhooks/express",
  "@svc-webhooks/hono": "@svc-webhooks/hono",
  "@svc-webhooks/next": "@svc-webhooks/next",
  "@octokit/webhooks-methods": "@octokit/webhooks-methods",
  "@octokit/webhooks": "@octokit/webhooks",
  standardwebhooks: "standardwebhooks",
  svix: "svix",
  stripe: "stripe",
  "@hookflo/tern": "@hookflo/tern",
};

async function sizes(
  title: string,
  contenders: Readonly<Record<string, Deployed>>,
  reference: string,
  bars: readonly Bar[] = [],
): Promise<Race> {
  const lanes = [];
  for (const [name, contender] of Object.entries(contenders)) {
    lanes.push({ name, values: [await gzippedBytes(contender)] });
  }
  return { title, unit: "B", better: "less", reference, lanes, bars };
}

const about = `Sizes are of one module with all that it imports, bundled by rolldown (for workers unless it says Node), minified and gzipped. A framework is there anyway and not counted, nor is what it says \`beside\`. The time of an import is taken in a new process each time.

What the peers do: @octokit/webhooks-methods and standardwebhooks sign and verify. @octokit/webhooks also dispatches events to handlers and mounts itself in node:http. svix and stripe are clients of whole services; of the two only svix lets its part for webhooks be imported alone. @hookflo/tern verifies the webhooks of many services, can hand them to a hosted queue, and needs modules of Node. None of them remembers by itself which events have run.`;

const features =
  "the bar is from a prototype without schemas, parking, `forget`, `drain`, `onStoreError` and records " +
  "that several lineages share. What features take, each left out alone: the memory store, which is " +
  "the default, 695 B; checks of options 318; schemas 196; `forget` 139; `drain` 101; `observe` 85. " +
  "Some 340 B are the price of going on at once where nothing is to be waited for, which made a " +
  "delivery three times as fast. Below the bar comes only who moves features to entries of their own.";

export const size: RunSection = async ({ quick }) => ({
  title: "Size and start",
  about,
  races: [
    await sizes("size, sign + verify alone", alone, "svc-webhooks", [
      { lane: "svc-webhooks", atMost: 1_331, aim: 1_024 },
    ]),
    await sizes("size, everything exported", whole, "svc-webhooks", [
      { lane: "svc-webhooks", atMost: 6_656, aim: 5_632, limit: features },
    ]),
    await sizes("size on workers", workers, "createReceiver alone", [
      { lane: "Hono adapter + core", atMost: 7_168, aim: 6_144, limit: features },
    ]),
    await sizes("size on Node", servers, "createReceiver alone"),
    {
      title: "import, new process",
      unit: "ms",
      better: "less",
      reference: "@svc-webhooks/core",
      lanes: importByTurns(modules, quick ? 1 : 11),
      bars: [],
    },
  ],
});
