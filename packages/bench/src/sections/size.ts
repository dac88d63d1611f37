import { gzippedBytes } from "../bundle.js";
import type { Bar, Race } from "../race.js";
import type { RunSection } from "../sections.js";

export const run: RunSection = async () => ({
  title: "Size",
  races: [
    await race("gzip, sign + verify alone", alone, { atMost: 1_331, aim: 1_024, limit: ofVerify }),
    await race("gzip, everything exported", whole, { atMost: 6_656, aim: 5_632, limit }),
    await race("gzip, adapter + core", adapters, { atMost: 7_168, aim: 6_144, limit }),
  ],
});

const alone = {
  "svc-webhooks": `export { sign, verify } from "@svc-webhooks/core"`,
  "@octokit/webhooks-methods": `export * from "@octokit/webhooks-methods"`,
  standardwebhooks: `export { Webhook } from "standardwebhooks"`,
  // A deep import: the package's entry cannot be tree-shaken.
  "svix, its Webhook": `export { Webhook } from "svix/dist/webhook.js"`,
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

/** The first contender is the reference, and the one that the bar is about. */
async function race(
  title: string,
  contenders: Readonly<Record<string, string>>,
  bar: Omit<Bar, "lane">,
): Promise<Race> {
  const lanes = [];
  for (const [name, code] of Object.entries(contenders)) {
    const bytes = await gzippedBytes(code, name.endsWith("on Node") ? "node" : "worker");
    lanes.push({ name, values: [bytes] });
  }
  const [reference = ""] = Object.keys(contenders);
  return { title, unit: "B", reference, lanes, bars: [{ lane: reference, ...bar }] };
}

const ofVerify = "About a third validates the secret and explains what is wrong with it.";
const limit =
  "The bar comes from a prototype without schemas, parking, `forget`, `drain`, `onStoreError` and lineages.";
