import { gzipSync } from "node:zlib";
import { headerNames } from "@svc-webhooks/core";
import type { Sending } from "../../http-sender.js";
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
  headers: { ...delivery.headers, [headerNames.signature]: signature },
});

export const signatureOf = ({ headers }: UniqueDelivery): string =>
  headers[headerNames.signature] ?? "";

/** Requests that must be rejected and not handled. */
export const forgeries: readonly ReceiverCase[] = [
  {
    title: "refuses a delivery that another secret signed, with 4xx",
    fix: "Anyone can send to the URL, and a sender repeats what gets 5xx: compare the signatures, and respond with 401.",
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
    fix: "A missing header must not skip verification, for no Content-Type and no attempt: respond with 401.",
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
    title: "refuses a signature without sha256=",
    fix: "The interface document calls such a header invalid: check the prefix before the digits.",
    run: refuses(tamper.missingPrefix),
  },
  {
    title: "refuses a signature that is too short, too long or not hex, with 4xx",
    fix: "timingSafeEqual throws on unequal lengths, and Buffer.from cuts at the first bad digit: test for 64 hex digits first.",
    async run(probe) {
      const broken: readonly ((signature: string) => string)[] = [
        () => "sha256=",
        (signature) => signature.slice(0, -2),
        (signature) => `${signature}00`,
        () => `sha256=${"z".repeat(64)}`,
      ];
      for (const change of broken) {
        await refuses((delivery) => withSignature(delivery, change(signatureOf(delivery))))(probe);
      }
    },
  },
  {
    title: "refuses two signatures even if one is valid",
    fix: "Proxies and frameworks disagree on which of two headers counts: refuse a signature header that is repeated.",
    async run(probe) {
      const forged = `sha256=${"0".repeat(64)}`;
      const genuineFirst = (delivery: UniqueDelivery) =>
        withSignature(delivery, [signatureOf(delivery), forged]);
      const forgedFirst = (delivery: UniqueDelivery) =>
        withSignature(delivery, [forged, signatureOf(delivery)]);
      await refuses(genuineFirst)(probe);
      await refuses(forgedFirst)(probe);
    },
  },
  {
    title: "refuses a compressed body whose signature covers the decompressed text",
    fix: "The signature covers the bytes on the wire, and strangers send bombs: switch decompression off, such as express.raw({ inflate: false }).",
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
    fix: "A parse error or a null must not become 5xx, which is repeated: catch it, and respond with 400.",
    async run(probe) {
      const deep = "[".repeat(50_000) + "]".repeat(50_000);
      for (const body of ["{", "null", "[]", '"x"', "1", deep]) {
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
    fix: "A body without a limit fills the memory: stop reading at a limit such as 1 MiB, with and without Content-Length, and respond with 413.",
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
