import { gzipSync } from "node:zlib";
import { headerNames } from "@svc-webhooks/core/adapter";
import { splitAtSignature } from "@svc-webhooks/schemes/senders";
import { fixture } from "../../fixture.js";
import type { SignedDelivery } from "../../delivery.js";
import { senderOf } from "../../scheme-delivery.js";
import { signingOf } from "../../signing.js";
import { tamper } from "../../tamper.js";
import type { ReceiverProbe } from "../probe.js";
import { withSignature, type Change, type Forgery } from "../forgery.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";

const hugeBytes = 16 * 1_048_576;

/** Returns a `run` that sends one delivery for each change. Each delivery must be rejected and not handled. */
export const refuses =
  (...changes: readonly Change[]) =>
  async (probe: ReceiverProbe): Promise<void> => {
    for (const change of changes) await probe.refusesChanged(change);
  };

const digitsOf =
  (change: (digits: string) => string) =>
  (genuine: string, delivery: SignedDelivery): string => {
    const [before, digits] = splitAtSignature(genuine, signingOf(delivery).prefix);
    return before + change(digits);
  };

const zeros = digitsOf(() => "0".repeat(64));

/** Returns a forgery whose signature has wrong, too few or too many digits. */
export const withDigits = (name: string, change: (digits: string) => string): Forgery => [
  "short_signature_accepted",
  name,
  withSignature(digitsOf(change)),
];

/** Inserts a byte that is not UTF-8 at the end of the last string in the JSON. */
function withInvalidByte(body: Uint8Array): Uint8Array {
  const index = body.lastIndexOf(0x22);
  return Buffer.concat([body.subarray(0, index), Buffer.of(0xff), body.subarray(index)]);
}

const withoutValue = (name: string) => [name, undefined] as const;

/** Cases with requests that must be rejected and not handled. */
export const forgeries: readonly ReceiverCase[] = [
  {
    title: "refuses a delivery signed with another secret, with 4xx",
    level: "must",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "Anyone can send requests to the URL, and most senders retry after a 5xx. Compare the signatures, and respond with 401 if they differ.",
    forgeries: [
      [
        "wrong_secret_accepted",
        "a signature made with another secret",
        (delivery) => tamper.wrongSecret(delivery),
      ],
    ],
  },
  {
    title: "refuses a body that was changed or truncated",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "The signature covers every byte of the body. Verify all the bytes you receive.",
    run: refuses(
      tamper.flippedByte,
      tamper.truncated,
      // Code that trims the body ignores this newline. Code that drops invalid bytes ignores the byte below.
      ({ body }) => ({ body: Buffer.concat([body, Buffer.from("\n")]) }),
      ({ body }) => ({ body: withInvalidByte(body) }),
    ),
  },
  {
    title: "refuses a body that was parsed and serialized again",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "The signature covers the bytes, not the parsed value. Verify the raw body, never the result of JSON.stringify.",
    run: refuses(tamper.reserialized),
  },
  {
    title: "refuses a delivery without a signature, whatever its other headers",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "A request without a signature must not skip verification, whatever its Content-Type, attempt number or API key. Respond with 401.",
    forgeries: [
      [
        "unsigned_accepted",
        "a delivery without a signature",
        (delivery) => tamper.missingHeader(delivery),
      ],
    ],
    async run(probe) {
      for (const headers of [
        // Sends few requests with several headers each: some receivers lock out a sender after five wrong signatures.
        { "content-type": "application/x-www-form-urlencoded", [headerNames.attempt]: "2" },
        { "content-type": "text/plain", [headerNames.attempt]: "9" },
        { "content-type": "multipart/form-data; boundary=x", authorization: "Bearer svc_test" },
      ]) {
        const unsigned = tamper.missingHeader(await probe.delivery(undefined, { headers }));
        await probe.refuses(unsigned);
      }
    },
  },
  {
    title: "refuses a delivery without a signature, whatever it lacks or who seems to send it",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "Anyone can leave out a header, send a test event, or claim to be a proxy. A request without a signature must not skip verification. Respond with 401.",
    async run(probe) {
      const { idHeaders } = signingOf(await probe.delivery());
      for (const [type, headers] of [
        ["ping", Object.fromEntries(["content-type", ...idHeaders].map(withoutValue))],
        ["test", { "content-type": "application/octet-stream", [headerNames.eventId]: undefined }],
        ["email.sent", { "content-type": "application/xml", [headerNames.attempt]: undefined }],
      ] as const) {
        const event = (event_id: string) => ({ ...fixture("email.sent", { event_id }), type });
        const unsigned = tamper.missingHeader(await probe.delivery(event));
        const changed = { ...unsigned.headers, ...headers, "x-forwarded-for": "127.0.0.1" };
        await probe.refuses({ ...unsigned, headers: changed });
      }
    },
  },
  {
    title: "refuses a signature without its prefix",
    level: "must",
    source: sources.prefix,
    schemeSource: sources.validSignature,
    isSkippedFor: ({ form }) => !form.prefix,
    fix: "A signature without its prefix is invalid. Check the prefix (sha256= for the service) before the digits.",
    forgeries: [["prefix_not_checked", "a signature without its prefix", tamper.missingPrefix]],
  },
  {
    title: "refuses a signature that is too short, too long or not hex, with 4xx",
    level: "must",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "timingSafeEqual throws if the lengths differ, and Buffer.from stops at the first invalid digit. First check that the signature has the right form, such as 64 hex digits.",
    forgeries: [
      withDigits("a signature without digits", () => ""),
      withDigits("a signature without its last two digits", (digits) => digits.slice(0, -2)),
      withDigits("a signature with two more digits", (digits) => `${digits}00`),
      withDigits("a signature of letters", () => "z".repeat(64)),
    ],
  },
  {
    title: "refuses two signatures even if one is valid",
    level: "should",
    source: sources.oneFieldLine,
    fix: "Proxies and frameworks disagree about which of two headers counts. Refuse a repeated signature header.",
    run: refuses(
      withSignature((genuine, delivery) => [genuine, zeros(genuine, delivery)]),
      withSignature((genuine, delivery) => [zeros(genuine, delivery), genuine]),
    ),
  },
  {
    title: "refuses a compressed body whose signature covers the decompressed text",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "The signature covers the bytes as sent, and anyone can send a zip bomb. Turn decompression off, for example with express.raw({ inflate: false }).",
    forgeries: [
      [
        "compressed_accepted",
        "a compressed body with the signature of its text",
        ({ headers, body }) => ({
          body: gzipSync(body),
          headers: { ...headers, "content-encoding": "gzip" },
        }),
      ],
    ],
  },
  {
    title: "refuses an empty body with 4xx, even if it is signed",
    level: "should",
    source: sources.clientError,
    fix: "Some parsers leave an empty body undefined, so code that reads it throws. Respond to an empty body with 400.",
    async run(probe) {
      const empty = await probe.delivery(() => "");
      await probe.refuses(empty);
      await probe.refuses(tamper.missingHeader(empty), "An empty body without a signature");
    },
  },
  {
    title: "refuses signed bodies that are not JSON objects, with 4xx",
    level: "should",
    source: sources.clientError,
    fix: "If a parse error or a null causes a 5xx, most senders retry. Catch the error, and respond with 400.",
    async run(probe) {
      const lists = ["[]", "[".repeat(50_000) + "]".repeat(50_000)];
      const isList = probe.scheme && senderOf(probe.scheme).sendsLists;
      for (const body of ["{", "null", '"x"', "1", ...(isList ? [] : lists)]) {
        await probe.refuses(await probe.delivery(() => body), `The body ${body.slice(0, 9)}`);
        // Stops at the first status that is not a 4xx, because the next body might crash the receiver.
        if (probe.minorFailure) return;
      }
    },
  },
  {
    title: "refuses GET",
    level: "should",
    source: sources.methods,
    fix: "Deliveries are POST requests. Respond to other methods with 405.",
    run: refuses(() => ({ method: "GET", body: new Uint8Array() })),
  },
  {
    title: "refuses a huge body, even without a Content-Length, and handles the next delivery",
    level: "should",
    source: sources.tooLarge,
    fix: "A body without a size limit can fill the memory. Stop reading at a limit such as 1 MiB, even if there is no Content-Length, and respond with 413.",
    async run(probe) {
      for (const chunkBytes of [undefined, 65_536]) {
        const delivery = await tamper.huge(await probe.delivery(), {
          bytes: hugeBytes,
          secret: probe.secret,
        });
        const sending = { ...delivery, ...(chunkBytes && { chunkBytes }) };
        const refusal = probe.refuses(sending, "A huge body");
        await refusal.catch(unlessClosed);
        probe.neverRan("A huge body");
      }
      await probe.handles(await probe.delivery());
    },
  },
];

/** Throws any error except a closed connection: a server may close it when it stops reading a body. */
function unlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
}
