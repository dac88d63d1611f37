import { createReceiver } from "@svc-webhooks/core";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { npx } from "@svc-webhooks/kit/npx";
import { outsideDirectory, root, tsc } from "@svc-webhooks/kit/programs";
import { compilers } from "@svc-webhooks/kit/type-project";
import { beforeAll, describe, expect, test } from "vitest";
import { senders as known, type SenderName } from "../src/senders.js";
import { packages, program } from "./official-sdks.js";
import { sender, type Headers } from "./support.js";

interface Delivery {
  readonly headers: Headers;
  readonly body: string;
  readonly secret: string;
}

interface Report {
  readonly found: Readonly<Record<string, readonly boolean[]>>;
  /** A signature that svix made of the first delivery's body. */
  readonly signed: { readonly id: string; readonly seconds: number; readonly signature: string };
  /** The signature that @notionhq/client made of the first delivery's body. */
  readonly notionSignature: string;
}

const compared: Readonly<Record<string, SenderName>> = {
  svix: "svix",
  "@slack/bolt": "slack",
  "@shopify/shopify-api": "shopify",
  "@paddle/paddle-node-sdk": "paddle",
  "@linear/sdk": "linear",
  openai: "openai",
  "@clerk/backend": "clerk",
  "@polar-sh/sdk": "polar",
  replicate: "replicate",
  dodopayments: "dodo-payments",
  "@notionhq/client": "notion",
};

/**
 * Resolves to a genuine delivery, and the same with another body. The packages read the real clock, and Paddle's one
 * refuses a time that is 5 s past. None of them refuses one that is 30 s ahead.
 */
async function deliveriesOf(name: SenderName): Promise<readonly Delivery[]> {
  // This version of Polar's package knows only the key of older secrets.
  const { secret } =
    name === "polar" ? { secret: "polar_whs_0123456789" } : await known[name].testKeys();
  const at = Date.now() + 30_000;
  const body = sender(name).body({ at });
  const headers = await known[name].sign(body, { secret, at, type: "sent" });
  return [body, body.replace("{", "{ ")].map((text) => ({ headers, body: text, secret }));
}

/** Returns the code with which a receiver ends a delivery. */
async function codeOf(name: SenderName, { headers, body, secret }: Delivery): Promise<string> {
  const { receive } = createReceiver({
    scheme: sender(name).scheme(),
    secret,
    on: { "*": () => {} },
    log: () => {},
  });
  return (await receive({ method: "POST", headers, body: Buffer.from(body) })).code;
}

const node22 = ["-y", "-p", "node@22"];
const options = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
const cwd = outsideDirectory();
const deliveries: Record<string, readonly Delivery[]> = {};
let report: Report;

beforeAll(async () => {
  writeFileSync(join(cwd, "package.json"), '{ "private": true, "type": "module" }');
  writeFileSync(join(cwd, "program.js"), program);
  const installed = await npx([...node22, "npm", "install", ...options, ...packages], {
    cwd,
  });
  expect(installed).toMatchObject({ exitCode: 0 });
  for (const [name, scheme] of Object.entries(compared))
    deliveries[name] = await deliveriesOf(scheme);
  writeFileSync(join(cwd, "deliveries.json"), JSON.stringify(deliveries));
  const { stdout, stderr } = await npx([...node22, "node", "program.js", "deliveries.json"], {
    cwd,
  });
  expect(stderr).toBe("");
  report = JSON.parse(stdout) as Report;
});

describe.each(Object.entries(compared))("%s", (name, scheme) => {
  test("accepts what the receiver processes, and refuses what it refuses", async () => {
    expect(report.found[name]).toEqual([true, false]);
    const codes = await Promise.all((deliveries[name] ?? []).map((each) => codeOf(scheme, each)));
    expect(codes).toEqual(["processed", "signature_mismatch"]);
  });
});

test("a signature that svix makes is processed", async () => {
  const [{ body, secret } = { body: "", secret: "" }] = deliveries["svix"] ?? [];
  const { id, seconds, signature } = report.signed;
  const headers = { "svix-id": id, "svix-timestamp": String(seconds), "svix-signature": signature };
  expect(await codeOf("svix", { headers, body, secret })).toBe("processed");
});

test("a signature that @notionhq/client makes is processed", async () => {
  const [delivery] = deliveries["@notionhq/client"] ?? [];
  if (!delivery) throw new Error("There is no delivery of Notion.");
  const headers = { "x-notion-signature": report.notionSignature };
  expect(await codeOf("notion", { ...delivery, headers })).toBe("processed");
});

/** A handler for each package whose types describe its events. */
const typed = `
import { createReceiver } from "@svc-webhooks/core";
import { clerk, dodoPayments, openai, polar } from "@svc-webhooks/schemes";
import type { WebhookEvent } from "@clerk/backend/webhooks";
import type { WebhookOrderPaidPayload$Outbound } from "@polar-sh/sdk/models/components/webhookorderpaidpayload.js";
import type DodoPayments from "dodopayments";
import type OpenAI from "openai";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
createReceiver({
  scheme: clerk<WebhookEvent>(),
  secret,
  on: { "user.created": ({ data }) => data.id satisfies string },
});
createReceiver({
  scheme: openai<OpenAI.Webhooks.UnwrapWebhookEvent>(),
  secret,
  on: { "response.completed": ({ data }) => data.id satisfies string },
});
createReceiver({
  scheme: polar<WebhookOrderPaidPayload$Outbound>(),
  secret,
  on: { "order.paid": ({ data }) => data.total_amount satisfies number },
});
createReceiver({
  scheme: dodoPayments<DodoPayments.Webhooks.UnwrapWebhookEvent>(),
  secret,
  on: { "payment.succeeded": ({ data }) => data.payment_id satisfies string },
});
// @ts-expect-error: no event has this type
createReceiver({ scheme: clerk<WebhookEvent>(), secret, on: { "user.craeted": () => {} } });
createReceiver({
  scheme: openai<OpenAI.Webhooks.UnwrapWebhookEvent>(),
  secret,
  // @ts-expect-error: the event has no such field
  on: { "response.completed": ({ data }) => data.output },
});
`;

test.each(compilers)("the packages' events type the handlers, with %s", async (compiler) => {
  writeFileSync(join(cwd, "typed.ts"), typed);
  for (const name of ["core", "schemes"]) {
    const link = join(cwd, "node_modules/@svc-webhooks", name);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(root, "packages", name), link);
  }
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--preserveSymlinks"];
  const settings = ["--target", "es2023", "--module", "nodenext"];
  const { stdout } = await tsc(compiler, [...flags, ...settings, "typed.ts"], { cwd });
  expect(stdout).toBe("");
});
