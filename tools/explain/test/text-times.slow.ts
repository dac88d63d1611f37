import { fourfoldRatio, linearForFourfold } from "@svc-webhooks/kit/cpu-ratio";
import { textShapes } from "@svc-webhooks/kit/text-shapes";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import { describe, expect, test } from "vitest";
import { explainRequest } from "../src/senders.js";

const secret = "whsec_MfKQ9r8G/YqrTwj+PD8ILPZ/o2La+aSw";
const body = Buffer.from("{}");

/** The signature headers of senders. A text in one of them is not well-formed, so that all looks examine it. */
const headerNames = [
  ["github", "x-hub-signature-256"],
  ["stripe", "stripe-signature"],
  ["standard-webhooks", "webhook-signature"],
  ["slack", "x-slack-signature"],
  ["shopify", "x-shopify-hmac-sha256"],
  ["paddle", "paddle-signature"],
  ["linear", "linear-signature"],
] as const satisfies readonly (readonly [SenderName, string])[];

describe.each(headerNames)("explains a header of %s in linear time", (scheme, name) => {
  test.each(Object.entries(textShapes))("of %s", async (_name, shape) => {
    const ratio = await fourfoldRatio((size) => {
      const headers = [[name, shape(size)]] as const;
      return () => explainRequest({ scheme, headers, body, secret });
    });
    expect(ratio).toBeLessThan(linearForFourfold);
  });
});
