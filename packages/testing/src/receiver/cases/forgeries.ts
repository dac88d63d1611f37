import { gzipSync } from "node:zlib";
import { headerNames } from "@svc-webhooks/core";
import type { Sending } from "../../http-sender.js";
import { senderOf } from "../../schemes/senders.js";
import { signingOf, splitAtSignature } from "../../signing.js";
import { tamper } from "../../tamper.js";
import type { ReceiverProbe, UniqueDelivery } from "../probe.js";
import type { ReceiverCase } from "./case.js";

const hugeBytes = 16 * 1_048_576;

/** Checks that a genuine delivery that `change` has modified is rejected and not handled. */
export const refuses =
  (change: (delivery: UniqueDelivery) => Sending | Promise<Sending>) =>
  async (probe: ReceiverProbe): Promise<void> => {
    const delivery = await probe.delivery();
    await probe.refuses({ ...delivery, ...(await change(delivery)) });
  };

export const withSignature = (
  delivery: UniqueDelivery,
  signature: string | readonly string[],
): Sending => ({
  headers: { ...delivery.headers, [signingOf(delivery).header]: signature },
});

export const signatureOf = (delivery: UniqueDelivery): string =>
  delivery.headers[signingOf(delivery).header] ?? "";

/** Returns a signature header with other digits. */
const withDigits =
  (change: (digits: string) => string) =>
  (delivery: UniqueDelivery): string => {
    const [before, digits] = splitAtSignature(signatureOf(delivery), signingOf(delivery).prefix);
    return before + change(digits);
  };

const withForgedDigits = withDigits(() => "0".repeat(64));

const genuineFirst = (delivery: UniqueDelivery) =>
  withSignature(delivery, [signatureOf(delivery), withForgedDigits(delivery)]);
const forgedFirst = (delivery: UniqueDelivery) =>
  withSignature(delivery, [withForgedDigits(delivery), signatureOf(delivery)]);

export const changingDigits =
  (change: (digits: string) => string) =>
  (delivery: UniqueDelivery): Sending =>
    withSignature(delivery, withDigits(change)(delivery));

/** Requests that must be rejected and not handled. */
export const forgeries: readonly ReceiverCase[] = [
  {
    title: "refuses a delivery that another secret signed, with 4xx",
    fix: "Anyone can send to the URL, and a sender retries after a 5xx: compare the signatures, and respond with 401.",
    run: refuses((delivery) => tamper.wrongSecret(delivery)),
  },
  {
    title: "refuses a body that was changed or cut",
    fix: "The signature covers every byte of the body: compute the HMAC of all bytes received.",
    async run(probe) {
      await refuses(tamper.flippedByte)(probe);
      await refuses(tamper.truncated)(probe);
    },
  },
  {
    title: "refuses a body that was parsed and serialised again",
    fix: "The bytes are signed, not the value: verify the raw body, and never what JSON.stringify returns.",
    run: refuses(tamper.reserialised),
  },
  {
    title: "refuses a delivery without a signature, whatever its other headers",
    fix: "A missing header must not skip verification, whatever the Content-Type or the attempt: respond with 401.",
    async run(probe) {
      for (const headers of [
        {},
        { "content-type": "application/x-www-form-urlencoded" },
        { [headerNames.attempt]: "2" },
      ]) {
        const unsigned = tamper.missingHeader(await probe.delivery(undefined, { headers }));
        await probe.refuses(unsigned);
      }
    },
  },
  {
    title: "refuses a signature without its prefix",
    isSkippedFor: ({ form }) => !form.prefix,
    fix: "Such a header is invalid: check the prefix, sha256= for the service, before the digits.",
    run: refuses(tamper.missingPrefix),
  },
  {
    title: "refuses a signature that is too short, too long or not hex, with 4xx",
    fix: "timingSafeEqual throws on unequal lengths, and Buffer.from stops at the first bad digit: test for 64 hex digits first.",
    async run(probe) {
      const broken: readonly ((digits: string) => string)[] = [
        () => "",
        (digits) => digits.slice(0, -2),
        (digits) => `${digits}00`,
        () => "z".repeat(64),
      ];
      for (const change of broken) {
        await refuses(changingDigits(change))(probe);
      }
    },
  },
  {
    title: "refuses two signatures even if one is valid",
    fix: "Proxies and frameworks disagree on which of two headers counts: refuse a repeated signature header.",
    async run(probe) {
      await refuses(genuineFirst)(probe);
      await refuses(forgedFirst)(probe);
    },
  },
  {
    title: "refuses a compressed body whose signature covers the decompressed text",
    fix: "The signature covers the bytes on the wire, and strangers can send zip bombs: turn decompression off, for example with express.raw({ inflate: false }).",
    run: refuses(({ headers, body }) => ({
      body: gzipSync(body),
      headers: { ...headers, "content-encoding": "gzip" },
    })),
  },
  {
    title: "refuses an empty body with 4xx, even if it is signed",
    fix: "Parsers leave an empty body undefined, and reading it then throws: refuse it with 400.",
    async run(probe) {
      const empty = await probe.delivery(() => "");
      await probe.refuses(empty);
      await probe.refuses(tamper.missingHeader(empty), "An empty body without a signature");
    },
  },
  {
    title: "refuses signed bodies that are not JSON objects, with 4xx",
    fix: "A parse error or a null must not become a 5xx, because the sender retries after one: catch it, and respond with 400.",
    async run(probe) {
      const lists = ["[]", "[".repeat(50_000) + "]".repeat(50_000)];
      const isList = probe.scheme && senderOf(probe.scheme).sendsLists;
      for (const body of ["{", "null", '"x"', "1", ...(isList ? [] : lists)]) {
        await probe.refuses(await probe.delivery(() => body), `The body ${body.slice(0, 9)}`);
      }
    },
  },
  {
    title: "refuses GET",
    fix: "Deliveries are POST requests: respond to other methods with 405.",
    run: refuses(() => ({ method: "GET", body: new Uint8Array() })),
  },
  {
    title: "refuses a huge body, also without a Content-Length, and handles the next delivery",
    fix: "An unlimited body can fill the memory: stop reading at a limit such as 1 MiB, with and without Content-Length, and respond with 413.",
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

/** Ignores a closed connection: a server may close it when it stops reading a body. */
function unlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
}
