import { createReceiver } from "@svc-webhooks/core";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { npx } from "@svc-webhooks/kit/npx";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
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
}

const compared: Readonly<Record<string, SenderName>> = {
  svix: "svix",
  "@slack/bolt": "slack",
  "@shopify/shopify-api": "shopify",
  "@paddle/paddle-node-sdk": "paddle",
  "@linear/sdk": "linear",
  openai: "standard-webhooks",
};

/**
 * Resolves to a genuine delivery, and the same with another body. The packages read the real clock, and Paddle's one
 * refuses a time that is 5 s past. None of them refuses one that is 30 s ahead.
 */
async function deliveriesOf(name: SenderName): Promise<readonly Delivery[]> {
  const { secret } = await known[name].testKeys();
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
