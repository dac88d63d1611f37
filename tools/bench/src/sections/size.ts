import { fileURLToPath } from "node:url";
import { gzippedBytes } from "../bundle.js";
import { round } from "../report/table.js";
import type { Race } from "../race.js";
import type { RunSection } from "../sections.js";

// The limits of these sizes are tests, with the reason for each byte: packages/core/test/size.test.ts.
export const run: RunSection = async () => ({
  title: "Size",
  races: [
    await race("gzip, only `sign` and `verify`", alone),
    await race("gzip, everything exported", exported),
    await race("gzip, everything exported, on Node", { "svc-webhooks": exported["svc-webhooks"] }),
    await race("gzip, adapter + core", adapters),
  ],
  table: await partsTable(),
});

const alone = {
  "svc-webhooks": `export { sign, verify } from "@svc-webhooks/core"`,
  "@octokit/webhooks-methods": `export * from "@octokit/webhooks-methods"`,
  standardwebhooks: `export { Webhook } from "standardwebhooks"`,
  // Uses a deep import, because the package's entry point cannot be tree-shaken.
  "svix, only `Webhook`": `export { Webhook } from "svix/dist/webhook.js"`,
};

const exported = {
  "svc-webhooks": `export * from "@svc-webhooks/core"`,
  "@octokit/webhooks": `export * from "@octokit/webhooks"`,
  svix: `export { Svix, Webhook } from "svix"`,
  stripe: `export { default } from "stripe"`,
  "@hookflo/tern, on Node": `export { WebhookVerificationService } from "@hookflo/tern"`,
};

const withCore = (name: string) =>
  `export { createReceiver } from "@svc-webhooks/core"; export * from "@svc-webhooks/${name}"`;

const adapters = {
  Hono: withCore("hono"),
  "Next.js": withCore("next"),
  "Express, on Node": withCore("express"),
  "Redis store, on Node": withCore("redis"),
};

/** Measures the sizes of contenders. The first one is the reference. */
async function race(title: string, contenders: Readonly<Record<string, string>>): Promise<Race> {
  const lanes = [];
  for (const [name, code] of Object.entries(contenders)) {
    const target = [title, name].some((text) => text.endsWith("on Node")) ? "node" : "worker";
    const bytes = await gzippedBytes(code, target);
    lanes.push({ name, values: [bytes] });
  }
  const [reference = ""] = Object.keys(contenders);
  return { title, unit: "B", reference, lanes, bars: [] };
}

/** The parts of a receiver that can be left out, each with a pattern for the paths of its files. */
const operators = /\/operators\//;
const queues = /\/(?:enqueue|queued-handler|restore)\.ts$/;
const store = /\/memory-store\.ts$/;
const parts: Readonly<Record<string, RegExp>> = {
  logging: /\/log\//,
  "importing, checking and rotating secrets": /\/crypto\/keys\.ts$/,
  "`memoryStore`": store,
  "`fetch`": /\/web\.ts$/,
  "checks of options": /\/setup\/table\.ts$/,
  "`peek` and `forget`": operators,
  "leases of handlers that return promises": /\/lease\.ts$/,
  "retries of `complete` and `release`": /\/claim\/close\.ts$/,
  "`drain` and `maxConcurrent`": /\/pending-work\.ts$/,
  "`around`": /\/surround\.ts$/,
  "handlers that run from a queue": queues,
  schemas: /\/setup\/schemas\.ts$/,
};

// The parts are left out of the sources, because the built core is one file.
const sources = fileURLToPath(new URL("../../../../packages/core/src/main.ts", import.meta.url));

const receiverWithout = (leftOut?: RegExp) =>
  gzippedBytes(`export { createReceiver } from "${sources}"`, "worker", leftOut);

const anyOf = (patterns: readonly RegExp[]) =>
  new RegExp(patterns.map(({ source }) => source).join("|"));

/** Builds a table of what each part adds to a receiver. */
async function partsTable(): Promise<string[][]> {
  const whole = await receiverWithout();
  const rows: [part: string, bytes: number][] = [];
  for (const [part, files] of Object.entries(parts)) {
    rows.push([part, whole - (await receiverWithout(files))]);
  }
  const minimal = await receiverWithout(anyOf([operators, queues, store]));
  const spine = await receiverWithout(anyOf(Object.values(parts)));
  return [
    ["part", "bytes"],
    ["---", "--:"],
    ["**`createReceiver` for a worker**", `**${round(whole)}**`],
    ...rows.toSorted(([, a], [, b]) => b - a).map(([part, bytes]) => [part, round(bytes)]),
    ["**without `peek`, `forget`, queues and `memoryStore`**", `**${round(minimal)}**`],
    ["**without all of these parts**", `**${round(spine)}**`],
  ];
}
