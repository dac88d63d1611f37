import { fileURLToPath } from "node:url";
import { bundle, gzippedBytes, type Target } from "../bundle.js";
import { round } from "../report/table.js";
import type { Bar, Race } from "../race.js";
import type { RunSection } from "../sections.js";

export const run: RunSection = async () => ({
  title: "Size",
  races: [
    await race("gzip, only `sign` and `verify`", alone, {
      atMost: 1_520,
      aim: 1_331,
      limit: ofVerify,
    }),
    await race("gzip, everything exported", whole, { atMost: 11_185, aim: 9_500, limit }),
    await race("gzip, everything exported, on Node", onNode, {
      atMost: 15_150,
      aim: 12_200,
      limit,
    }),
    await race("gzip, adapter + core", adapters, { atMost: 10_900, aim: 9_500, limit }),
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

const whole = {
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

/** Measures the sizes of contenders. The first one is the reference, and the bar applies to it. */
async function race(
  title: string,
  contenders: Readonly<Record<string, string>>,
  bar: Omit<Bar, "lane">,
): Promise<Race> {
  const lanes = [];
  for (const [name, code] of Object.entries(contenders)) {
    const target = [title, name].some((text) => text.endsWith("on Node")) ? "node" : "worker";
    const bytes = await gzippedBytes(code, target);
    lanes.push({ name, values: [bytes] });
  }
  const [reference = ""] = Object.keys(contenders);
  return { title, unit: "B", reference, lanes, bars: [{ lane: reference, ...bar }] };
}

const onNode = { "svc-webhooks": whole["svc-webhooks"] };

/**
 * The parts of the core, each with a pattern for the paths of its files. A file belongs to the first part whose pattern
 * matches, so the last part contains the rest.
 */
const parts: Readonly<Record<string, RegExp>> = {
  "signing and verifying; checking and rotating secrets": /crypto\/|signature/,
  "receiving a delivery, from its bytes to its response":
    /pipeline\/|claim\/|receiver|outcome|delivery|web\.|lib\/(?:deadline|header|work)/,
  "`memoryStore`": /memory-store|clock/,
  logging: /log\//,
  "checking options, handlers and schemas": /setup\/|checks|events|lib\/(?:assert|times)/,
  "texts: causes and fixes": /texts\//,
  "errors and shared code": /./,
};

/** Typical uses of the core, with the exports that each imports and its platform. */
const users: readonly (readonly [title: string, exported: string, target: Target])[] = [
  ["`sign`, `verify`", "{ sign, verify }", "worker"],
  ["`createReceiver`", "{ createReceiver }", "worker"],
  ["everything", "*", "worker"],
  ["everything, on Node", "*", "node"],
];

// The parts are measured in the sources, because the built core is one file.
const source = fileURLToPath(new URL("../../../../packages/core/src/index.ts", import.meta.url));

/** Builds a table with a column per user and a row per part. */
async function partsTable(): Promise<string[][]> {
  const columns: string[][] = [];
  for (const [title, exported, target] of users) {
    const bytes = await gzippedBytes(`export ${exported} from "@svc-webhooks/core"`, target);
    const { modules } = await bundle(`export ${exported} from "${source}"`, target);
    const lengths = Object.keys(parts).map(() => 0);
    for (const [file, code] of modules) {
      const part = Object.values(parts).findIndex((files) => files.test(file));
      lengths[part] = (lengths[part] ?? 0) + code.length;
    }
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const shares = lengths.map((length) => round(Math.round((bytes * length) / total)));
    columns.push([title, "--:", ...shares, `**${round(bytes)} B**`]);
  }
  const heads = ["part", "---", ...Object.keys(parts), "**total**"];
  return heads.map((head, row) => [head, ...columns.map((column) => column[row] ?? "")]);
}

const ofVerify =
  "About a third of the code validates the secret and explains what is wrong with it.";
const limit = "The table in [Size](#size) shows how much each part contributes.";
