import { createHmac } from "node:crypto";
import { pathToFileURL } from "node:url";
import type { Receiver } from "@svc-webhooks/core";
import { expect, test, vi } from "vitest";
import { codeBlocks, compileBlocks } from "./readme.js";

const blocks = codeBlocks("docs/senders/polar.md").filter(({ code }) =>
  code.includes("POLAR_WEBHOOK_SECRET"),
);
const { modulePath } = await compileBlocks(blocks);
const [address] = blocks.map((block) => pathToFileURL(modulePath(block)).href);

const body = '{"type":"order.paid","data":{}}';
const decoded = Buffer.alloc(32, 9);
const secret = `whsec_${decoded.toString("base64")}`;

/** Sends an event that is signed with each key to the receiver of the page. */
async function codeOf(given: string, ...keys: readonly Uint8Array[]) {
  vi.stubEnv("POLAR_WEBHOOK_SECRET", given);
  vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(console, "error").mockReturnValue();
  // A query makes another instance of the module, with the secret of this test.
  const { receiver } = (await import(`${address}?${encodeURIComponent(given)}`)) as {
    readonly receiver: Receiver;
  };
  const time = Math.floor(Date.now() / 1_000);
  const id = `msg_${keys.length}_${keys[0]?.length}`;
  const signatures = keys.map(
    (key) => `v1,${createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64")}`,
  );
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(time),
    "webhook-signature": signatures.join(" "),
  };
  const { code } = await receiver.receive({ method: "POST", headers, body: Buffer.from(body) });
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  return code;
}

test("the page has one receiver for all secrets of Polar", () => {
  expect(blocks).toHaveLength(1);
});

test.each([
  ["a new secret", secret, [decoded]],
  ["an older secret", secret, [Buffer.from(secret)]],
  ["both keys", secret, [Buffer.from(secret), decoded]],
  ...["polar_whs_0123456789abcdef0123456789abcdef", "whsec_not-base64", "whsec_MTIz"].map(
    (older): [string, string, readonly Uint8Array[]] => [older, older, [Buffer.from(older)]],
  ),
] as [string, string, readonly Uint8Array[]][])("it accepts %s", async (_what, given, keys) => {
  expect(await codeOf(given, ...keys)).toBe("processed");
  expect(await codeOf(given, Buffer.from("another"))).toBe("signature_mismatch");
});
