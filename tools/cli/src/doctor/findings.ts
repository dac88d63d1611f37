import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts, pageLink } from "@svc-webhooks/core/outcomes";

/** A problem that the probes found, in most cases a mistake in the receiver. */
export interface Finding {
  readonly id: FindingId;
  /** A description of what the probes showed. */
  readonly happened: string;
  readonly cause: string;
  readonly fix: string;
  /** The mistake's id in `verify --explain`. Undefined if no accepted signature identified the mistake. */
  readonly mistake?: string;
}

/** The name of a problem, or the outcome code that an svc-webhooks receiver reports. */
export type FindingId = keyof typeof texts | OutcomeCode;

const rawBody = `Mount the receiver before every body parser, or keep the raw bytes and verify those: ${pageLink("docs/raw-body")}`;
const verifyFirst =
  "Compare the X-SVC-Signature with the HMAC of the exact body before anything else, and respond with 401 if they differ.";

/** The cause and fix of each finding whose id is not an outcome code. */
const texts = {
  unreachable: {
    cause: "No server accepts connections at this address and port.",
    fix: "Start the receiver, and check the port.",
  },
  tls: {
    cause: "No TLS connection to the receiver was established.",
    fix: "Correct the receiver's certificate or its TLS settings, or pass a URL whose scheme, host and port fit them.",
  },
  hangs: {
    cause:
      "The receiver does not respond in time. The usual causes are a body that a parser has already consumed, an uncaught error, and a handler that takes longer than --timeout.",
    fix: "Mount the receiver before any body parser, make every code path send a response, and move long work to a durable queue.",
  },
  connection_closed: {
    cause:
      "The receiver closes the connection without a response. This happens, for example, when its process crashes, or when an http: URL names a port that serves HTTPS.",
    fix: "Look for an exception in the receiver's log. Make sure that no request can crash the process. For a port that serves HTTPS, use an https: URL.",
  },
  redirects: {
    cause: "The URL redirects to another one, and senders need not follow redirects.",
    fix: "Register exactly the URL that the redirect points to. A trailing slash makes a difference.",
  },
  not_found: {
    cause: "No route receives POST requests at this path.",
    fix: "Pass the URL with the receiver's path, such as http://localhost:3000/webhooks.",
  },
  parser_before_receiver: {
    cause: "The body is parsed before it is verified, so the signed bytes are gone.",
    fix: rawBody,
  },
  body_altered: {
    cause:
      "The receiver, or something in front of it, probably modifies the body before it is verified.",
    fix: "Verify the bytes as they arrive. Turn off whatever trims, decodes or re-encodes the body.",
  },
  wrong_secret: {
    cause:
      "The receiver probably uses a different secret from the one you passed. If not, something in front of it modifies bodies or rejects every POST request.",
    fix: "Give both this command and the receiver the secret that the service returned for this endpoint, including whsec_, without quotes or white space. An svc-webhooks receiver logs the fingerprint of its secret: compare it with the fingerprint that this command prints. If they are the same and the secret has not expired, look for what changes the body, or print the signature that the receiver computes, and pass it to svc-webhooks verify --explain.",
  },
  guarded: {
    cause:
      "Something in front of the receiver, such as CSRF protection or authentication, probably refuses every POST request.",
    fix: "Exempt the receiver's path, because deliveries are authenticated by their signature.",
  },
  wrong_signature_form: {
    cause: "The receiver expects the signature in a different format.",
    fix: "Expect sha256= followed by the 64 hex digits of the HMAC-SHA256.",
  },
  header_removed: {
    cause: "Something probably removes or modifies a header before it reaches the receiver.",
    fix: "Configure every proxy and middleware to pass the X-SVC-* headers unchanged. If the receiver is for another sender, pass --scheme.",
  },
  genuine_failed: {
    cause:
      "The receiver fails on a genuine delivery: for example, its handler throws, or it responds to an unknown event type or a wrong signature with a server error.",
    fix: "Check the receiver's log. Respond with 2xx to event types that it does not handle, and with 401 to a wrong signature.",
  },
  unsigned_accepted: {
    cause: "The receiver does not verify signatures, so anyone can send it events.",
    fix: verifyFirst,
  },
  some_unsigned_accepted: {
    cause:
      "The receiver does not verify some deliveries, such as retries, deliveries with another Content-Type, or deliveries without a body. Anyone can send it such deliveries.",
    fix: "Verify every delivery, whatever its headers and body. Respond with 401 if the signature is missing.",
  },
  wrong_secret_accepted: {
    cause: "The receiver checks only that a signature is present, or only its format.",
    fix: verifyFirst,
  },
  missing_secret_accepted: {
    cause:
      "The receiver accepts signatures made with an empty or undefined secret, or with the secret of an example. Anyone can make such signatures.",
    fix: "Verify only with the endpoint's secret, and refuse to start without one.",
  },
  plain_hash_accepted: {
    cause:
      "The receiver accepts a plain hash of the body instead of its HMAC. Anyone can compute such a hash.",
    fix: "Accept only the HMAC-SHA256 made with the endpoint's secret.",
  },
  weak_hash_accepted: {
    cause:
      "The receiver lets the sender choose the hash of the HMAC, or accepts SHA-1, which the service does not use.",
    fix: "Always compute HMAC-SHA256, whatever the prefix.",
  },
  altered_body_accepted: {
    cause: "The receiver does not check the signature against the bytes of this body.",
    fix: verifyFirst,
  },
  compressed_accepted: {
    cause:
      "The receiver, or something in front of it, decompresses the body before it is verified. The signature covers the bytes as sent, and anyone can send a small body that decompresses to gigabytes.",
    fix: "Turn decompression off, for example with express.raw({ inflate: false }).",
  },
  prefix_not_checked: {
    cause: "The receiver does not require the documented lower-case prefix sha256=.",
    fix: "Refuse a value that does not start with sha256=.",
  },
  short_signature_accepted: {
    cause: "The receiver compares only some of the 64 digits.",
    fix: "Compare the lengths first, then all characters in constant time.",
  },
  stale_accepted: {
    cause:
      "The receiver does not check the signed time, so a captured delivery can be sent again at any time.",
    fix: "Refuse a delivery if its signed time differs from the clock by more than the sender recommends, such as 5 minutes.",
  },
  clock_skew: {
    cause:
      "The clock of the receiver's machine, or of this one, is wrong, so genuine deliveries can be refused as stale.",
    fix: "Synchronize both clocks, for example with chrony or systemd-timesyncd, and compare them with `date -u`.",
  },
  forgery_is_an_error: {
    cause:
      "The receiver responds to a wrong signature with a server error, for example because timingSafeEqual throws on values of different lengths. Most senders retry after a 5xx.",
    fix: "Respond with 401 to every wrong signature.",
  },
  early_success: {
    cause: "The receiver responds before it has read the body, so it cannot have verified it.",
    fix: "Read the whole body, verify it and do the work, then respond.",
  },
  pieces_refused: {
    cause: "The receiver probably reads only the first chunk of a body.",
    fix: "Collect all chunks until the request ends, then verify.",
  },
  large_refused: {
    cause:
      "Probably, a body limit is below 64 KiB, or the receiver reads only the first chunk of a body.",
    fix: "Raise the limit, including in any proxies in front of the receiver, and read the whole body. The service does not document a maximum.",
  },
  duplicate_refused: {
    cause: "The receiver responds with an error to a delivery that it has already handled.",
    fix: "Respond with 2xx to a copy of a delivery that has already been handled.",
  },
  duplicate_ran: {
    cause:
      "The receiver handled the same delivery twice. Usually, the receiver is created for each request, or each process has its own memory store.",
    fix: `Create the receiver once, and share a store between processes: ${pageLink("docs/stores")}`,
  },
  stops_serving: {
    cause:
      "The receiver stops serving requests after a sender disconnects in the middle of a body.",
    fix: "Handle the error that an aborted request emits, so that it does not crash the process.",
  },
} as const satisfies Readonly<Record<string, { readonly cause: string; readonly fix: string }>>;

export const finding = (
  id: FindingId,
  happened: string,
  more: Partial<Omit<Finding, "id" | "happened">> = {},
): Finding => ({ id, happened, ...textsOf(id), ...more });

const textsOf = (id: FindingId): { readonly cause: string; readonly fix: string } => {
  if (isOwn(id)) return texts[id];
  const { happened, cause, fix } = outcomeTexts[id];
  return { cause: `${happened} ${cause}`, fix };
};

const isOwn = (id: FindingId): id is keyof typeof texts => Object.hasOwn(texts, id);

/** Properties that no request from outside can show. */
export const notJudged: readonly string[] = [
  "whether a delivery is handled only once when copies reach several processes at the same time",
  "whether handlers are idempotent, and whether their work is done before the 2xx",
  "how long delivery ids are remembered, and whether they survive a restart",
  "whether signatures are compared in constant time",
  "whether a proxy in front of the production receiver changes requests",
];
