import { createReceiver, type OutcomeCode } from "@svc-webhooks/core";
import { tamper } from "@svc-webhooks/testing";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import { signedDelivery } from "@svc-webhooks/testing";
import { senderNames, schemeUnderTest } from "../../kit/schemes.js";

/** The outcomes of a delivery of each scheme, its copy and a forgery, inside a runtime. */
export type SchemeResults = Readonly<Record<string, readonly OutcomeCode[]>>;

export const expectedSchemeResults: SchemeResults = Object.fromEntries(
  senderNames.map((name) => [name, ["processed", "duplicate", "signature_mismatch"]]),
);

async function resultsOf(name: SenderName): Promise<readonly OutcomeCode[]> {
  const { scheme, secret, signingSecret } = await schemeUnderTest(name);
  const receiver = createReceiver({ scheme, secret, on: { "*": () => {} }, log: () => {} });
  const genuine = await signedDelivery({}, { scheme: name, secret: signingSecret });
  const codes: OutcomeCode[] = [];
  for (const delivery of [genuine, genuine, await tamper.wrongSecret(genuine)]) {
    codes.push((await receiver.receive(delivery)).code);
  }
  return codes;
}

/** Signs and receives three deliveries of each scheme. */
export async function schemesApp(): Promise<Response> {
  const results: Record<string, readonly OutcomeCode[]> = {};
  for (const name of senderNames) results[name] = await resultsOf(name);
  return Response.json(results satisfies SchemeResults);
}
