import type { SchemeFor, SignedBody } from "@svc-webhooks/core";
import { fromBase64 } from "./lib/base64.js";
import { latin1, utf8 } from "./lib/bytes.js";
import { importHmacKey } from "./lib/hmac-key.js";
import { keyReader } from "./lib/keys.js";
import { andThen } from "./lib/maybe-promise.js";
import { filled } from "./lib/text.js";
import { toleranceOf, type TimedOptions } from "./lib/time.js";
import type { TypedEvent } from "./lib/typed-event.js";
import { standardWebhooks } from "./standard-webhooks.js";

/** Returns the scheme on which a preset is based. Refuses all options but `toleranceMs`. */
const base = (options: TimedOptions, headers: "webhook" | "svix" = "webhook") =>
  standardWebhooks({ toleranceMs: toleranceOf(options), headers });

/**
 * Returns the scheme of services that send their webhooks through Svix: Standard Webhooks with headers that begin with
 * `svix-`. If the headers begin with `webhook-`, use `standardWebhooks()`.
 *
 * The secret is the endpoint's, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { svix } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: svix(),
 *   secret: process.env.WEBHOOK_SECRET ?? "",
 *   on: { "*": (event, { deliveryId }) => console.log(deliveryId, event.type) },
 * });
 * ```
 */
export const svix = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => base(options, "svix");

/**
 * Returns the scheme of Resend, which sends through Svix. The type is the body's `type`, such as `email.bounced`.
 *
 * The secret is the webhook's signing secret, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { resend } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: resend(),
 *   secret: process.env.RESEND_WEBHOOK_SECRET ?? "",
 *   on: { "email.bounced": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export const resend = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({ ...base(options, "svix"), name: "resend" });

/**
 * Returns the scheme of Clerk, which sends through Svix. The type is the body's `type`, such as `user.created`.
 *
 * The secret is the endpoint's signing secret, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { clerk } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: clerk(),
 *   secret: process.env.CLERK_WEBHOOK_SIGNING_SECRET ?? "",
 *   on: { "user.created": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export const clerk = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({ ...base(options, "svix"), name: "clerk" });

/**
 * Returns the scheme of OpenAI, which follows Standard Webhooks. OpenAI expects a response within a few seconds, so the
 * default of `handlerTimeoutMs` is 2,000.
 *
 * The secret is the endpoint's, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { openai } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: openai(),
 *   secret: process.env.OPENAI_WEBHOOK_SECRET ?? "",
 *   on: { "response.completed": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export const openai = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({ ...base(options), name: "openai", handlerTimeoutMs: 2_000 });

/**
 * Returns the scheme of Polar, which follows Standard Webhooks. The key of a secret that was created since 8 September
 * 2026 is decoded from the base64 after `whsec_`; the key of an older one is the text of the whole secret
 * (github.com/polarsource/polar, pull request 14117). A secret does not show its age, so a signature with either key is
 * accepted. Nobody can compute one of the keys without the secret.
 *
 * The secret is the endpoint's, `whsec_…` or `polar_whs_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { polar } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: polar(),
 *   secret: process.env.POLAR_WEBHOOK_SECRET ?? "",
 *   on: { "order.paid": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export const polar = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({
  ...base(options),
  name: "polar",
  handlerTimeoutMs: 9_000,
  keyBytes: keyReader(utf8, ""),
  importKey: (text, hmac) =>
    andThen(importHmacKey(text, hmac), (older) =>
      andThen(importHmacKey(polarKey(latin1(text)) ?? text, hmac), (newer) => ({
        // Compares both keys, so that timing does not reveal which one matched.
        verify: (body, claim: never) =>
          andThen(newer.verify(body, claim), (isNewer) =>
            andThen(older.verify(body, claim), (isOlder) => isNewer || isOlder),
          ),
      })),
    ),
});

/** Returns the decoded key of a secret of Polar. Undefined if the secret is too old to have one. */
export function polarKey(secret: string): Uint8Array | undefined {
  const bytes = secret.startsWith("whsec_") ? fromBase64(secret.slice(6)) : undefined;
  return bytes && bytes.length >= 24 ? bytes : undefined;
}

/**
 * Returns the scheme of GitLab's webhooks that have a signing token, which follow Standard Webhooks. `X-Gitlab-Token`
 * alone is not a signature, so it is refused. The type is the body's `object_kind`, with the `action` of
 * `object_attributes` if there is one: `push`, `merge_request.open`.
 *
 * The secret is the webhook's signing token, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { gitlab } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: gitlab(),
 *   secret: process.env.GITLAB_WEBHOOK_SIGNING_TOKEN ?? "",
 *   on: { "merge_request.open": (event) => console.log(event["object_attributes"]) },
 * });
 * ```
 */
export const gitlab = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({
  ...base(options),
  name: "gitlab",
  handlerTimeoutMs: 9_000,
  eventType({ object_kind, object_attributes }) {
    const type = filled(object_kind);
    const action = filled((object_attributes as SignedBody | null | undefined)?.["action"]);
    return type && action ? `${type}.${action}` : type;
  },
});

/**
 * Returns the scheme of Replicate, which follows Standard Webhooks. The body is a prediction or a training, and the
 * type is its `status`, such as `succeeded`.
 *
 * The secret is the account's signing secret for webhooks, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { replicate } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: replicate(),
 *   secret: process.env.REPLICATE_WEBHOOK_SIGNING_SECRET ?? "",
 *   on: { succeeded: (event) => console.log(event["output"]) },
 * });
 * ```
 */
export const replicate = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({
  ...base(options),
  name: "replicate",
  eventType: ({ status }) => filled(status),
});

/**
 * Returns the scheme of Dodo Payments, which follows Standard Webhooks. The type is the body's `type`, such as
 * `payment.succeeded`.
 *
 * The secret is the endpoint's, `whsec_…`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { dodoPayments } from "svc-webhooks/schemes";
 *
 * export const receiver = createReceiver({
 *   scheme: dodoPayments(),
 *   secret: process.env.DODO_PAYMENTS_WEBHOOK_KEY ?? "",
 *   on: { "payment.succeeded": (event) => console.log(event["data"]) },
 * });
 * ```
 */
export const dodoPayments = <Event extends TypedEvent = never>(
  options: TimedOptions = {},
): SchemeFor<Event> => ({ ...base(options), name: "dodoPayments" });
