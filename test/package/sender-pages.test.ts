import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Receiver } from "@svc-webhooks/core";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { root } from "@svc-webhooks/kit/programs";
import { expect, test, vi } from "vitest";
import { codeBlocks, compileBlocks } from "./readme.js";

/** The first block of each page of a sender: its receiver. */
const blocks = readdirSync(join(root, "docs/senders"))
  .map((file) => file.replace(".md", ""))
  .filter((name) => name in senders)
  .map((name) => {
    const [block] = codeBlocks(`docs/senders/${name}.md`);
    if (!block) throw new Error(`The page of ${name} has no code.`);
    return [name as SenderName, block] as const;
  });
const { modulePath } = await compileBlocks(blocks.map(([, block]) => block));

test.each(blocks)("the code of the page of %s receives its events", async (name, block) => {
  const { testKeys, sign, secretVariable, complete, type } = senders[name];
  const { secret, signingSecret } = await testKeys();
  vi.stubEnv(secretVariable, secret);
  vi.stubEnv("META_VERIFY_TOKEN", "a token");
  vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(console, "info").mockReturnValue();
  const { receiver } = (await import(pathToFileURL(modulePath(block)).href)) as {
    readonly receiver: Receiver;
  };
  const at = Date.now();
  const deliveryId = "d-1";
  const body = JSON.stringify(complete({}, { deliveryId, type, at }));
  const headers = await sign(body, { secret: signingSecret, at, deliveryId, type });
  const send = async (text: string) =>
    (await receiver.receive({ method: "POST", headers, body: Buffer.from(text) })).code;
  expect(await send(`${body} `)).toBe("signature_mismatch");
  expect(await send(body)).toMatch(/^(?:processed|ignored)$/);
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
