import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { goodReceiver, signatureOf, type HandWrittenReceiver } from "./good-receiver.js";
import { accepting, bad } from "./with-mistake.js";

const eventIdOf = (body: Buffer) => /"event_id":"(.+?)"/.exec(body.toString())?.[1];

/**
 * Creates a receiver that remembers the ids of forgeries, and treats a later genuine delivery with such an id as a
 * copy.
 */
function rememberingForgeries(
  idOf: (request: IncomingMessage, body: Buffer) => unknown,
): HandWrittenReceiver {
  const ids = new Set<unknown>();
  let current: IncomingMessage;
  let isCopy = false;
  return bad({
    // `signature`, `isGenuine` and `run` are called for one request with nothing awaited in between.
    signature(request) {
      current = request;
      return goodReceiver.signature(request);
    },
    isGenuine(body, signature) {
      const isGenuine = goodReceiver.isGenuine(body, signature);
      if (isGenuine) isCopy = ids.has(idOf(current, body));
      else ids.add(idOf(current, body));
      return isGenuine;
    },
    run: async (...run) => (isCopy ? 200 : goodReceiver.run(...run)),
  });
}

/** Creates a receiver that accepts any copy of a known event without a valid signature. */
function trustingCopies(): HandWrittenReceiver {
  const done = new Set<string>();
  return bad({
    isGenuine: (body, signature) =>
      goodReceiver.isGenuine(body, signature) || done.has(body.toString()),
    parse(body) {
      const event = goodReceiver.parse(body);
      done.add(body.toString());
      return event;
    },
  });
}

/** Creates a receiver that does not verify requests with this method. */
const verifyingPost = (method: string) =>
  bad({
    finding: "some_unsigned_accepted",
    refusal: (request) => (request.method === method ? undefined : goodReceiver.refusal(request)),
    signature: (request) =>
      request.method === method ? "not needed" : goodReceiver.signature(request),
    isGenuine: (body, signature) =>
      signature === "not needed" || goodReceiver.isGenuine(body, signature),
  });

/** Returns whether the cases use this body to observe a receiver after its response. */
export const isObserved = (body: Buffer): boolean => body.includes('"Observed"');

/** Creates a receiver that responds to some forgeries with 401 but runs the handler afterwards. */
function runningRefused(isMistaken: (signature: string) => boolean): HandWrittenReceiver {
  let isRefused = false;
  return bad({
    isGenuine(body, signature) {
      const isGenuine = goodReceiver.isGenuine(body, signature);
      isRefused = !isGenuine && isObserved(body) && isMistaken(signature);
      return isGenuine || isRefused;
    },
    async run(records, key, handle, event) {
      if (!isRefused) return goodReceiver.run(records, key, handle, event);
      setTimeout(() => void handle(), 30);
      return 401;
    },
  });
}

const hmac = (hash: string, body: Buffer) =>
  `${hash}=${createHmac(hash, "whsec_test").update(body).digest("hex")}`;

const plainHash = (body: Buffer) => createHash("sha256").update(body).digest("hex");

const hasDigits = (signature: string) => /^sha256=[0-9a-f]{64}$/.test(signature);

/** Creates a receiver that accepts unsigned requests for which `isTrusted` returns true. */
export function trustingUnsigned(
  isTrusted: (request: IncomingMessage, body: Buffer) => boolean,
  finding = "some_unsigned_accepted",
): HandWrittenReceiver {
  let current: IncomingMessage;
  return bad({
    finding,
    // `signature` and `isGenuine` are called for one request with nothing awaited in between.
    signature(request) {
      current = request;
      return goodReceiver.signature(request);
    },
    isGenuine: (body, signature) =>
      signature === "" ? isTrusted(current, body) : goodReceiver.isGenuine(body, signature),
  });
}

/** Returns a factory of receivers that accept unsigned requests for which `isTrusted` returns true. */
const trusting = (isTrusted: (request: IncomingMessage, body: Buffer) => boolean) => () =>
  trustingUnsigned(isTrusted);

const unsignedLacking =
  "refuses a delivery without a signature, whatever it lacks or who seems to send it";

const hasType =
  (...types: readonly string[]) =>
  (_request: IncomingMessage, body: Buffer) =>
    types.some((type) => body.includes(`"type":"${type}"`));

const isUnsignedAndEmpty = ({ headers }: IncomingMessage) =>
  headers["content-length"] === "0" && headers["x-svc-signature"] === undefined;

const digits = (signature: string) => Buffer.from(signature.slice("sha256=".length), "hex");

const withKey = (key: string) => () =>
  accepting((body, signature) => signature === signatureOf(body, key), "missing_secret_accepted");
const withHash = (hash: string) => () =>
  accepting((body, signature) => signature === hmac(hash, body), "weak_hash_accepted");

/** Bad receivers like those in `badReceivers`, whose mistakes concern requests from strangers. */
export const badToStrangers: Readonly<Record<string, () => HandWrittenReceiver>> = {
  "handles a genuine delivery even if a forgery with the same ids arrived first": () =>
    rememberingForgeries(({ headers }) => headers["x-svc-delivery-id"]),
  "refuses a forged copy of an event that is done, with 4xx": trustingCopies,
  "refuses a signature whose key is empty, undefined or null": withKey(""),
  "refuses a signature whose key is the secret of an example": withKey("secret"),
  "refuses a signature whose key is a placeholder": withKey("changeme"),
  "refuses a signature whose key is the sample of a library": withKey(
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  ),
  "refuses an HMAC with a hash other than SHA-256": withHash("md5"),
  "refuses a hash of the body without a key": () =>
    accepting(
      (body, signature) => signature === `sha256=${plainHash(body)}`,
      "plain_hash_accepted",
    ),
  "refuses the signature of an empty body with another body": () =>
    accepting((_body, signature) => signature === signatureOf(""), "altered_body_accepted"),
  "refuses a signature with one wrong digit": () =>
    accepting(
      (body, signature) =>
        hasDigits(signature) && signatureOf(body).startsWith(signature.slice(0, 39)),
      "short_signature_accepted",
    ),
  "refuses the right digits after a wrong prefix": () =>
    accepting(
      (body, signature) =>
        signature.startsWith("foo=") && signature.split("=")[1] === hmac("sha256", body).slice(7),
      "prefix_not_checked",
    ),
  "refuses the right digits if text follows them": () =>
    accepting((body, signature) => {
      const given = /^sha256=[^,]*$/.test(signature) ? digits(signature) : Buffer.alloc(0);
      return given.length === 32 && timingSafeEqual(given, digits(signatureOf(body)));
    }),
  "refuses forged PUT, PATCH and DELETE requests": () => verifyingPost("PUT"),
};

/** Bad receivers like those in `badReceivers`, whose mistakes happen after the response. */
export const badAfterResponse: Readonly<Record<string, () => HandWrittenReceiver>> = {
  "does not run the handler after refusing a delivery": () => runningRefused(() => true),
  "does not run the handler again after the response": () =>
    bad({
      async run(records, key, handle, event) {
        if (isObserved(Buffer.from(JSON.stringify(event)))) setTimeout(() => void handle(), 20);
        return goodReceiver.run(records, key, handle, event);
      },
    }),
};

const trimmed = (body: Buffer) => Buffer.from(body.toString().trim());
const withoutInvalid = (body: Buffer) => body.filter((byte) => byte !== 0xff);

/** Other ways to make the same mistakes. */
export const variants: readonly (readonly [
  title: string,
  mistake: string,
  make: () => HandWrittenReceiver,
])[] = [
  [
    "verifies spaces, line endings, escapes, numbers and duplicate keys as they were sent",
    "the body is trimmed",
    () =>
      bad({
        isGenuine: (body, signature) =>
          goodReceiver.isGenuine(body.includes('"big"') ? trimmed(body) : body, signature),
      }),
  ],
  [
    "verifies the whole of a body of 96 KiB",
    "the end is ignored",
    () =>
      accepting(
        (body, signature) =>
          hasDigits(signature) &&
          body.includes("xyx") &&
          signature === signatureOf(body.toString().replace("xyx", "xxx")),
      ),
  ],
  [
    "refuses a body that was changed or truncated",
    "the body is trimmed",
    () => accepting((body, signature) => signature === signatureOf(trimmed(body))),
  ],
  [
    "refuses a body that was changed or truncated",
    "invalid UTF-8 is ignored",
    () => accepting((body, signature) => signature === signatureOf(withoutInvalid(body))),
  ],
  [
    "handles a genuine delivery even if a forgery with the same ids arrived first",
    "the event id in the header",
    () => rememberingForgeries(({ headers }) => headers["x-svc-event-id"]),
  ],
  [
    "handles a genuine delivery even if a forgery with the same ids arrived first",
    "the event id in the body",
    () => rememberingForgeries((_request, body) => eventIdOf(body)),
  ],
  [
    "refuses a signature whose key is empty, undefined or null",
    "undefined",
    withKey(String(undefined)),
  ],
  ["refuses a signature whose key is empty, undefined or null", "null", withKey(String(null))],
  ["refuses a signature whose key is empty, undefined or null", "None", withKey("None")],
  ...["whsec_example", "whsec_secret"].map(
    (key) =>
      ["refuses a signature whose key is the secret of an example", key, withKey(key)] as const,
  ),
  ...["test", "whsec_"].map(
    (key) => ["refuses a signature whose key is a placeholder", key, withKey(key)] as const,
  ),
  [
    "refuses a signature whose key is the sample of a library",
    "the secret of published fixtures",
    withKey("whsec_c3ZjLXdlYmhvb2tzLXRlc3Qtc2VjcmV0"),
  ],
  ["refuses an HMAC with a hash other than SHA-256", "SHA-1", withHash("sha1")],
  ["refuses an HMAC with a hash other than SHA-256", "SHA-512", withHash("sha512")],
  [
    "refuses the right digits after a wrong prefix",
    "the end is compared",
    () =>
      accepting(
        (body, signature) =>
          signature.startsWith("foo=") && signature.endsWith(hmac("sha256", body).slice(7)),
        "prefix_not_checked",
      ),
  ],
  [
    "refuses the right digits after a wrong prefix",
    "the prefix in any case",
    () =>
      accepting(
        (body, signature) => signature.replace(/^SHA256=/, "sha256=") === signatureOf(body),
        "prefix_not_checked",
      ),
  ],
  [
    "refuses a hash of the body without a key",
    "without a prefix",
    () => accepting((body, signature) => signature === plainHash(body), "plain_hash_accepted"),
  ],
  [
    "refuses a signature with one wrong digit",
    "most of the middle is not compared",
    () =>
      accepting((body, signature) => {
        const expected = signatureOf(body);
        const [start, end] = [expected.slice(0, 23), expected.slice(-1)];
        return hasDigits(signature) && signature.startsWith(start) && signature.endsWith(end);
      }, "short_signature_accepted"),
  ],
  [
    "refuses a signature with one wrong digit",
    "the second half is compared",
    () =>
      accepting(
        (body, signature) =>
          hasDigits(signature) && signatureOf(body).endsWith(signature.slice(39)),
        "short_signature_accepted",
      ),
  ],
  [
    "refuses a delivery without a signature, whatever its other headers",
    "any API key",
    trusting(({ headers }) => /^Bearer ./.test(headers.authorization ?? "")),
  ],
  [
    "refuses a delivery without a signature, whatever its other headers",
    "forms",
    trusting(({ headers }) => /form/.test(headers["content-type"] ?? "")),
  ],
  [
    "refuses a delivery without a signature, whatever its other headers",
    "later attempts",
    trusting(({ headers }) => Number(headers["x-svc-attempt"]) > 1),
  ],
  [
    "refuses a delivery without a signature, whatever its other headers",
    "attempts after the second",
    trusting(({ headers }) => Number(headers["x-svc-attempt"]) > 2),
  ],
  ...["text/plain", "multipart/form-data"].map(
    (type) =>
      [
        "refuses a delivery without a signature, whatever its other headers",
        type,
        trusting(({ headers }) => headers["content-type"]?.startsWith(type) === true),
      ] as const,
  ),
  ...["application/octet-stream", "application/xml", undefined].map(
    (type) =>
      [
        unsignedLacking,
        `the Content-Type ${type}`,
        trusting(({ headers }) => headers["content-type"] === type),
      ] as const,
  ),
  ...["x-svc-delivery-id", "x-svc-event-id", "x-svc-attempt"].map(
    (name) => [unsignedLacking, `no ${name}`, trusting(({ headers }) => !headers[name])] as const,
  ),
  ...["ping", "test"].map(
    (type) => [unsignedLacking, `events of type ${type}`, trusting(hasType(type))] as const,
  ),
  [
    "does not handle a captured body again under another delivery id or without one",
    "the event id in the header",
    () => bad({ key: (_event, { headers }) => String(headers["x-svc-event-id"]) }),
  ],
  [
    "refuses a signature that is too short, too long or not hex, with 4xx",
    "no digits are genuine",
    () => accepting((_body, signature) => signature === "sha256=", "short_signature_accepted"),
  ],
  [
    "refuses a signature that is too short, too long or not hex, with 4xx",
    "as many characters as there are",
    () =>
      accepting(
        (body, signature) => signature.length > 10 && signatureOf(body).startsWith(signature),
        "short_signature_accepted",
      ),
  ],
  [
    "refuses an empty body with 4xx, even if it is signed",
    "without a signature",
    () =>
      bad({
        finding: "some_unsigned_accepted",
        refusal: (request) => (isUnsignedAndEmpty(request) ? 200 : goodReceiver.refusal(request)),
      }),
  ],
  [
    "refuses the right digits if text follows them",
    "split at each equals sign",
    () =>
      accepting(
        (body, signature) =>
          /^sha256=\w+=/.test(signature) &&
          signature.split("=")[1] === hmac("sha256", body).slice(7),
      ),
  ],
  ["refuses forged PUT, PATCH and DELETE requests", "PATCH", () => verifyingPost("PATCH")],
  ["refuses forged PUT, PATCH and DELETE requests", "DELETE", () => verifyingPost("DELETE")],
  [
    "does not run the handler after refusing a delivery",
    "without a signature",
    () => runningRefused((signature) => signature === ""),
  ],
];
