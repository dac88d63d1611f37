import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";

/** A mistake of the receiver. */
export interface Finding {
  readonly id: FindingId;
  /** A description of what the probes showed. */
  readonly saw: string;
  readonly cause: string;
  readonly fix: string;
  /** The id of the mistake, as `verify --explain` names it. */
  readonly mistake?: string;
}

/** The name of a mistake, or the outcome that a receiver of svc-webhooks states. */
export type FindingId = keyof typeof texts | OutcomeCode;

const pages = "https://github.com/svc-webhooks/svc-webhooks/blob/main/docs";

const rawBody = `Mount the receiver before every body parser, or keep the raw bytes and verify those: ${pages}/raw-body.md`;
const verifyFirst =
  "Compare the X-SVC-Signature with the HMAC of the exact body before anything else, and respond with 401 if they differ.";

/** The causes and fixes. */
const texts = {
  unreachable: {
    cause: "No server accepts connections at this address and port.",
    fix: "Start the receiver, and check the port.",
  },
  hangs: {
    cause:
      "The receiver does not respond in time. Most often it waits for a body that a parser has consumed, an error is thrown and not caught, or its handler takes longer than --timeout.",
    fix: "Mount the receiver before every body parser, let each path of the handler respond, and leave long work to a durable queue.",
  },
  connection_closed: {
    cause: "The receiver closes the connection without a response, as when its process crashes.",
    fix: "Look for an exception in its log. Nothing that arrives may end the process.",
  },
  redirects: {
    cause: "The receiver is at another URL. The service does not follow redirects.",
    fix: "Register the URL to which the redirect leads, with or without a slash at its end as there.",
  },
  not_found: {
    cause: "No route receives POST requests at this path.",
    fix: "Give the URL with the receiver's path, such as http://localhost:3000/webhooks.",
  },
  parser_before_receiver: {
    cause: "A body parser runs before the receiver, and the bytes that are signed are gone.",
    fix: rawBody,
  },
  body_altered: {
    cause: "Something before the receiver changes the body.",
    fix: "Verify the bytes as they arrive. Switch off whatever trims, decodes or re-encodes the body.",
  },
  wrong_secret: {
    cause:
      "The receiver most likely has another secret than this command; else something before it changes every body or refuses every POST.",
    fix: "Give both the secret that the service returned for this endpoint, whsec_ included, without quotes or white space. If both have it, print the signature that the receiver computes: svc-webhooks verify --explain names its mistake.",
  },
  guarded: {
    cause:
      "Something in front of the receiver refuses every POST, such as CSRF protection or authentication.",
    fix: "Exempt the receiver's path from it: its deliveries are authenticated by their signature.",
  },
  wrong_signature_form: {
    cause: "The receiver expects a signature in another form.",
    fix: "Expect sha256= and the 64 hex digits of the HMAC-SHA256.",
  },
  header_removed: {
    cause: "A header of the delivery does not reach the receiver, or not unchanged.",
    fix: "Let every proxy and middleware pass the X-SVC-* headers unchanged.",
  },
  genuine_failed: {
    cause:
      "The receiver fails on a genuine delivery: its handler throws, an event of an unknown type is an error, or it reports a wrong signature as one.",
    fix: "Look at its log. Respond with 2xx to types that it does not handle, and with 401 to a wrong signature.",
  },
  unsigned_accepted: {
    cause: "The receiver does not verify signatures: anyone can send it events.",
    fix: verifyFirst,
  },
  some_unsigned_accepted: {
    cause:
      "The receiver does not verify deliveries of another Content-Type, of a later attempt or without a body: anyone can send it such deliveries.",
    fix: "Verify every delivery, whatever its headers and body. Respond with 401 to one without a signature.",
  },
  wrong_secret_accepted: {
    cause: "The receiver looks at the form of a signature only, or at whether there is one.",
    fix: verifyFirst,
  },
  missing_secret_accepted: {
    cause:
      "The receiver accepts signatures of a secret that is not set, an empty one or undefined. Anyone can make them.",
    fix: "Verify with the secret of the endpoint only, and do not start without it.",
  },
  plain_hash_accepted: {
    cause:
      "The receiver accepts a hash of the body without a key in place of its HMAC. Anyone can make it.",
    fix: "Accept the HMAC-SHA256 with the secret of the endpoint only.",
  },
  altered_body_accepted: {
    cause: "The receiver does not compare the signature with the bytes of this body.",
    fix: verifyFirst,
  },
  prefix_not_checked: {
    cause:
      "The receiver does not require sha256=, in lower case, before the digits, which the service documents.",
    fix: "Refuse a value that does not start with sha256=.",
  },
  short_signature_accepted: {
    cause: "The receiver compares only a part of the 64 digits.",
    fix: "Compare the lengths first, then all characters in constant time.",
  },
  forgery_is_an_error: {
    cause:
      "The receiver throws while it verifies, for example because timingSafeEqual gets values of different lengths. The sender tries again after a 5xx.",
    fix: "Respond with 401 to everything whose signature is wrong.",
  },
  early_success: {
    cause: "The receiver responds before it has read the body, so it cannot have verified it.",
    fix: "Read the whole body, verify it and do the work, then respond.",
  },
  pieces_refused: {
    cause: "The receiver reads only the first piece of a body.",
    fix: "Collect all pieces until the end of the request, then verify.",
  },
  large_refused: {
    cause: "A limit for bodies is below 64 KiB, or only the first piece of a body is read.",
    fix: "Raise the limit, in proxies too. The service documents no maximum.",
  },
  duplicate_refused: {
    cause: "The receiver reports a delivery that it has already handled as an error.",
    fix: "Respond with 2xx to a copy of what is done.",
  },
  duplicate_ran: {
    cause:
      "The receiver ran the same delivery twice. Most often it is created for each request, or two processes have a memory store each.",
    fix: `Create the receiver once, and share a store between processes: ${pages}/stores.md`,
  },
  stops_serving: {
    cause: "After a sender hung up in the middle of a body, the receiver no longer serves.",
    fix: "Handle the error of an aborted request, so that it does not end the process.",
  },
} as const satisfies Readonly<Record<string, { readonly cause: string; readonly fix: string }>>;

export const finding = (
  id: FindingId,
  saw: string,
  more: Partial<Omit<Finding, "id" | "saw">> = {},
): Finding => ({ id, saw, ...textsOf(id), ...more });

const textsOf = (id: FindingId): { readonly cause: string; readonly fix: string } => {
  if (isOwn(id)) return texts[id];
  const { happened, cause, fix } = outcomeTexts[id];
  return { cause: `${happened} ${cause}`, fix };
};

const isOwn = (id: FindingId): id is keyof typeof texts => Object.hasOwn(texts, id);

/** The properties that no request from outside can show. */
export const notJudged: readonly string[] = [
  "whether a delivery runs once when copies arrive at several processes at the same time",
  "whether handlers are idempotent, and whether their work is done before the 2xx",
  "for how long delivery ids are remembered, and whether that survives a restart",
  "whether signatures are compared in constant time",
  "what a proxy in front of the receiver in production changes",
];
