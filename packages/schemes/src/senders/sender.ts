import type { Scheme } from "@svc-webhooks/core";
import type { Signer } from "./signer.js";

/** The name of a sender with a scheme that is based on `standardWebhooks`. */
export type StandardPresetName =
  "resend" | "clerk" | "openai" | "polar" | "gitlab" | "replicate" | "dodo-payments";

/** The name of a sender with a scheme that is based on `hmac`. */
export type HmacPresetName = "zoom" | "lemon-squeezy" | "meta" | "notion" | "woocommerce";

/** The name of a known sender, in options and on the command line. */
export type SenderName =
  | "standard-webhooks"
  | "standard-webhooks-ed25519"
  | "svix"
  | "stripe"
  | "github"
  | "slack"
  | "shopify"
  | "paddle"
  | "linear"
  | "discord"
  | "sendgrid"
  | StandardPresetName
  | HmacPresetName;

/** The form of a sender's signature. The value of the header ends with the prefix and the signature. */
export interface SignatureForm {
  /** The name of the header, in lower case. */
  readonly header: string;
  /** The text directly before the signature, such as `"sha256="`. May be empty. */
  readonly prefix: string;
  readonly encoding: "hex" | "base64";
  /** The text between two signatures in one header. Undefined if the sender sends only one. */
  readonly separator?: string | undefined;
  /** The headers with the delivery id. Empty if no header has it. */
  readonly idHeaders: readonly string[];
  /** The field of the body with the delivery id. Undefined if there is none. */
  readonly idField?: string | undefined;
}

/**
 * Splits the value of a signature's header into the text before its last signature, and that signature.
 *
 * @param prefix the text directly before a signature. May be empty
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { splitAtSignature } from "svc-webhooks/schemes/senders";
 *
 * assert.deepEqual(splitAtSignature("t=1,v1=0a", "v1="), ["t=1,v1=", "0a"]);
 * ```
 */
export function splitAtSignature(value: string, prefix: string): readonly [string, string] {
  const position = prefix ? value.lastIndexOf(prefix) : -1;
  const start = position < 0 ? 0 : position + prefix.length;
  return [value.slice(0, start), value.slice(start)];
}

/** The secrets of the receiver and of the sender. For HMAC, they are the same. */
export interface TestKeys {
  /** The receiver's option `secret`, for verification. */
  readonly secret: string;
  /** The option `secret` of `sign`, for signing. */
  readonly signingSecret: string;
}

/** The values that `complete` puts into a body. */
export interface BodyValues {
  readonly deliveryId: string;
  readonly type: string;
  /** The time of signing, in epoch milliseconds. */
  readonly at: number;
}

/** Describes how a known sender signs, and the form of its deliveries. Receivers do not need this description. */
export interface Sender {
  readonly name: SenderName | "service";
  /** The sender's name in texts for people, such as `"Standard Webhooks (Ed25519)"`. */
  readonly label: string;
  /** The environment variable that the documentation and tools use for the receiver's secret. */
  readonly secretVariable: string;
  /** The scheme that receivers use for the sender, with its default options. */
  readonly scheme: Scheme;
  /** Resolves to the headers that the sender would send with a body. */
  readonly sign: Signer;
  /**
   * Resolves to new random keys, so that tests and tools need no key material.
   *
   * @example
   * ```ts
   * import { senders } from "svc-webhooks/schemes/senders";
   *
   * const { secret, signingSecret } = await senders.discord.testKeys();
   * const headers = await senders.discord.sign('{"type":0}', { secret: signingSecret });
   * console.log("a receiver with the secret", secret, "accepts", headers);
   * ```
   */
  readonly testKeys: () => Promise<TestKeys>;
  /**
   * The kind of the receiver's secret: `text`, whose UTF-8 bytes are the key; `encoded`, a text from which the key is
   * decoded; or `public`, a public key, if the sender signs with a private key.
   */
  readonly key: "text" | "encoded" | "public";
  readonly form: SignatureForm;
  /** Whether the signature covers a time. */
  readonly isTimed: boolean;
  /** The field of the body with the signed time, in milliseconds. Undefined if the time is in a header or absent. */
  readonly timeField?: string;
  /**
   * Whether a captured delivery is refused if its id is changed, because the id is signed or is the hash of the signed
   * body.
   */
  readonly signsId: boolean;
  /** Whether a body is a list of events. */
  readonly sendsLists?: true;
  /** The type to use for an event without a type. */
  readonly type: string;
  /**
   * Returns a body of this sender for the event: adds the members that the sender's bodies have and the event lacks.
   */
  readonly complete: (event: Readonly<Record<string, unknown>>, values: BodyValues) => unknown;
}

/** A sender without its name, and without the header of its form, which is the first of its scheme's `headers`. */
export type Row = Omit<Sender, "name" | "form"> & { readonly form: Omit<SignatureForm, "header"> };
