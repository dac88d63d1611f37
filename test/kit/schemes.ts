import type { Scheme } from "@svc-webhooks/core";
import { senders, type SenderName, type TestKeys } from "@svc-webhooks/schemes/senders";

/** The names of the known senders. */
export const senderNames = Object.keys(senders) as readonly SenderName[];

/** A scheme, and keys for its receiver and its sender. */
export interface SchemeUnderTest extends TestKeys {
  readonly name: SenderName;
  readonly scheme: Scheme;
}

/** Returns a scheme with new keys. */
export const schemeUnderTest = async (name: SenderName): Promise<SchemeUnderTest> => ({
  name,
  scheme: senders[name].scheme,
  ...(await senders[name].testKeys()),
});

/** Returns every scheme with new keys. */
export const schemesUnderTest = (): Promise<readonly SchemeUnderTest[]> =>
  Promise.all(senderNames.map(schemeUnderTest));
