import type { Scheme } from "@svc-webhooks/core";
import {
  discord,
  github,
  linear,
  paddle,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
} from "@svc-webhooks/schemes";
import { testKeys, type SchemeName, type TestKeys } from "@svc-webhooks/schemes/sign";

/** Every scheme that has a signer, by the signer's name. */
export const schemes: Readonly<Record<SchemeName, Scheme>> = {
  standardWebhooks: standardWebhooks(),
  standardWebhooksEd25519: standardWebhooks({ algorithm: "ed25519" }),
  svix: standardWebhooks({ headers: "svix" }),
  stripe: stripe(),
  github: github(),
  slack: slack(),
  shopify: shopify(),
  paddle: paddle(),
  linear: linear(),
  discord: discord(),
  sendgrid: sendgrid(),
};

/** The names of these schemes. */
export const schemeNames = Object.keys(schemes) as readonly SchemeName[];

/** A scheme, and keys for its receiver and its sender. */
export interface SchemeUnderTest extends TestKeys {
  readonly name: SchemeName;
  readonly scheme: Scheme;
}

/** Returns a scheme with new keys. */
export const schemeUnderTest = async (name: SchemeName): Promise<SchemeUnderTest> => ({
  name,
  scheme: schemes[name],
  ...(await testKeys(name)),
});

/** Returns every scheme with new keys. */
export const schemesUnderTest = (): Promise<readonly SchemeUnderTest[]> =>
  Promise.all(schemeNames.map(schemeUnderTest));
