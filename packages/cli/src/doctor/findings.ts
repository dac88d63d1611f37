import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";

/** A mistake in the receiver. */
export interface Finding {
  readonly id: FindingId;
  /** A description of what the probes showed. */
  readonly saw: string;
  readonly cause: string;
  readonly fix: string;
  /** The mistake's id in `verify --explain`. */
  readonly mistake?: string;
}

/** The name of a mistake, or the outcome code that an svc-webhooks receiver reports. */
export type FindingId = keyof typeof texts | OutcomeCode;

const pages = "https://github.com/svc-webhooks/svc-webhooks/blob/main/docs";

const rawBody = `Mount the receiver before every body parser, or keep the raw bytes and verify those: ${pages}/raw-body.md`;
const verifyFirst =
  "Compare the X-SVC-Signature with the HMAC of the exact body before anything else, and respond with 401 if they differ.";

/** The cause and fix for each finding. */
const texts = {
  unreachable: {
    cause: "No server accepts connections at this address and port.",
    fix: "Start the receiver, and check the port.",
  },
  hangs: {
    cause:
      "The receiver does not respond in time. Usually it is waiting for a body that a parser has already consumed, an error is not caught, or its handler takes longer than --timeout.",
    fix: "Mount the receiver before any body parser, make every code path send a response, and move long work to a durable queue.",
  },
  connection_closed: {
    cause:
      "The receiver closes the connection without a response, as it does when its process crashes.",
    fix: "Look for an exception in its log. Make sure that no request can crash the process.",
  },
  redirects: {
    cause: "The receiver is at another URL. The service does not follow redirects.",
    fix: "Register the URL that the redirect points to, with or without the trailing slash exactly as shown.",
  },
  not_found: {
    cause: "No route receives POST requests at this path.",
    fix: "Give the URL with the receiver's path, such as http://localhost:3000/webhooks.",
  },
  parser_before_receiver: {
    cause: "A body parser runs before the receiver, so the signed bytes are gone.",
    fix: rawBody,
  },
  body_altered: {
    cause: "Something in front of the receiver modifies the body.",
    fix: "Verify the bytes as they arrive. Turn off whatever trims, decodes or re-encodes the body.",
  },
  wrong_secret: {
    cause:
      "The receiver probably uses a different secret from the one you passed. If not, something in front of it modifies bodies or rejects every POST.",
    fix: "Give both this command and the receiver the secret that the service returned for this endpoint, including whsec_, without quotes or white space. If they already have it, print the signature that the receiver computes: svc-webhooks verify --explain names the mistake.",
  },
  guarded: {
    cause:
      "Something in front of the receiver refuses every POST, such as CSRF protection or authentication.",
    fix: "Exempt the receiver's path: deliveries are authenticated by their signature.",
  },
  wrong_signature_form: {
    cause: "The receiver expects the signature in a different format.",
    fix: "Expect sha256= followed by the 64 hex digits of the HMAC-SHA256.",
  },
  header_removed: {
    cause: "A header is removed or modified before it reaches the receiver.",
    fix: "Configure every proxy and middleware to pass the X-SVC-* headers unchanged. If the receiver is for another sender, pass --scheme.",
  },
  genuine_failed: {
    cause:
      "The receiver fails on a genuine delivery: its handler throws, it treats an unknown event type as an error, or it reports a wrong signature as a server error.",
    fix: "Check its log. Respond with 2xx to event types that it does not handle, and with 401 to a wrong signature.",
  },
  unsigned_accepted: {
    cause: "The receiver does not verify signatures: anyone can send it events.",
    fix: verifyFirst,
  },
  some_unsigned_accepted: {
    cause:
      "The receiver does not verify some deliveries (with another Content-Type, from a later attempt, or without a body): anyone can send it such deliveries.",
    fix: "Verify every delivery, whatever its headers and body. Respond with 401 if the signature is missing.",
  },
  wrong_secret_accepted: {
    cause: "The receiver checks only that a signature is present, or only its format.",
    fix: verifyFirst,
  },
  missing_secret_accepted: {
    cause:
      "The receiver accepts signatures made with a missing secret (empty, or undefined). Anyone can make them.",
    fix: "Verify only with the endpoint's secret, and refuse to start without one.",
  },
  plain_hash_accepted: {
    cause:
      "The receiver accepts a plain hash of the body instead of its HMAC. Anyone can compute one.",
    fix: "Accept only the HMAC-SHA256 made with the endpoint's secret.",
  },
  altered_body_accepted: {
    cause: "The receiver does not check the signature against the bytes of this body.",
    fix: verifyFirst,
  },
  prefix_not_checked: {
    cause: "The receiver does not require the documented prefix sha256=, in lower case.",
    fix: "Refuse a value that does not start with sha256=.",
  },
  short_signature_accepted: {
    cause: "The receiver compares only some of the 64 digits.",
    fix: "Compare the lengths first, then all characters in constant time.",
  },
  stale_accepted: {
    cause:
      "The receiver does not check the signed time: a captured delivery can be sent again at any time.",
    fix: "Refuse a delivery if its signed time differs from the clock by more than the sender recommends, such as 5 minutes.",
  },
  clock_skew: {
    cause:
      "The clock of the receiver's machine, or of this one, is wrong, so genuine deliveries are refused as stale.",
    fix: "Synchronise both clocks, for example with chrony or systemd-timesyncd, and compare them with `date -u`.",
  },
  forgery_is_an_error: {
    cause:
      "The receiver throws while it verifies, for example because it passes values of different lengths to timingSafeEqual. The sender retries after a 5xx.",
    fix: "Respond with 401 to every wrong signature.",
  },
  early_success: {
    cause: "The receiver responds before it has read the body, so it cannot have verified it.",
    fix: "Read the whole body, verify it and do the work, then respond.",
  },
  pieces_refused: {
    cause: "The receiver reads only the first chunk of a body.",
    fix: "Collect all chunks until the request ends, then verify.",
  },
  large_refused: {
    cause: "A body limit is below 64 KiB, or the receiver reads only the first chunk of a body.",
    fix: "Raise the limit, including in proxies. The service documents no maximum.",
  },
  duplicate_refused: {
    cause: "The receiver responds with an error to a delivery that it has already handled.",
    fix: "Respond with 2xx to a copy of a delivery that has already been handled.",
  },
  duplicate_ran: {
    cause:
      "The receiver ran the same delivery twice. Usually the receiver is created for each request, or each process has its own memory store.",
    fix: `Create the receiver once, and share a store between processes: ${pages}/stores.md`,
  },
  stops_serving: {
    cause:
      "The receiver stops serving requests after a sender disconnects in the middle of a body.",
    fix: "Handle the error that an aborted request emits, so that it does not crash the process.",
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

/** Properties that no request from outside can show. */
export const notJudged: readonly string[] = [
  "whether a delivery runs once when copies arrive at several processes at the same time",
  "whether handlers are idempotent, and whether their work is done before the 2xx",
  "how long delivery ids are remembered, and whether they survive a restart",
  "whether signatures are compared in constant time",
  "whether a proxy in front of the production receiver changes requests",
];
