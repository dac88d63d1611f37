import { createHash, createHmac } from "node:crypto";
import type { SignedDelivery } from "../../signed-delivery.js";
import { tamper } from "../../tamper.js";
import { expectAccepted, type ReceiverProbe } from "../probe.js";
import type { ReceiverCase } from "./case.js";
import { refuses, signatureOf, withSignature } from "./forgeries.js";

/**
 * Checks that a delivery is rejected with each signature that `forgeries` create from its body or its genuine
 * signature.
 */
const refusesAll =
  (forgeries: readonly ((body: Uint8Array, genuine: string) => string)[]) =>
  async (probe: ReceiverProbe): Promise<void> => {
    for (const forge of forgeries) {
      await refuses((delivery) =>
        withSignature(delivery, forge(delivery.body, signatureOf(delivery))),
      )(probe);
    }
  };

/** Returns a delivery signed by a stranger. */
export const forged = (delivery: SignedDelivery): Promise<SignedDelivery> =>
  tamper.wrongSecret(delivery, "whsec_stranger");

/** Returns a function that signs a body with a key that is not the secret. */
const keyed = (key: string) => (body: Uint8Array) =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

function withWrongDigit(genuine: string, at: number): string {
  const place = "sha256=".length + at;
  const digit = genuine[place] === "0" ? "1" : "0";
  return genuine.slice(0, place) + digit + genuine.slice(place + 1);
}

/** Cases with signatures and requests that a stranger can create from a genuine delivery, or without one. */
export const strangers: readonly ReceiverCase[] = [
  {
    title: "handles a genuine delivery although a forgery with its ids arrived before it",
    fix: "A stranger who guesses an id could delete its event: record ids only after the signature is verified.",
    async run(probe) {
      const delivery = await probe.delivery();
      await probe.refuses(await forged(delivery), "A forgery");
      await probe.handles(delivery);
    },
  },
  {
    title: "refuses a forged copy of an event that is done, with 4xx",
    fix: "A 2xx reveals to a stranger which events were handled: verify the signature before you look for a record.",
    async run(probe) {
      const delivery = await probe.delivery();
      expectAccepted(await probe.send(delivery));
      await probe.isRefused(await forged(delivery), "A forged copy");
      probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "refuses a signature whose key is empty, undefined or null",
    fix: "Without a secret everyone can sign: do not start with a secret that is not set.",
    run: refusesAll(["", "undefined", "null"].map(keyed)),
  },
  {
    title: "refuses an HMAC of another hash than SHA-256",
    fix: "A sender must not choose the hash: compute HMAC-SHA256, whatever the prefix names.",
    run: async (probe) =>
      refusesAll(
        ["md5", "sha1", "sha512"].map(
          (hash) => (body) =>
            `${hash}=${createHmac(hash, probe.secret).update(body).digest("hex")}`,
        ),
      )(probe),
  },
  {
    title: "refuses a hash of the body without a key",
    fix: "Anyone can compute it: accept the HMAC with the secret only.",
    run: refusesAll([
      (body) => `sha256=${createHash("sha256").update(body).digest("hex")}`,
      (body) => createHash("sha256").update(body).digest("hex"),
    ]),
  },
  {
    title: "refuses a signature of which one digit is wrong",
    fix: "A comparison of some digits can be guessed: compare all 64 in constant time.",
    run: refusesAll([0, 63].map((at) => (_body, genuine) => withWrongDigit(genuine, at))),
  },
  {
    title: "refuses the right digits after another prefix",
    fix: "The interface document calls such a header invalid: compare all of it with sha256= in lower case and the digits, in place of splitting it.",
    run: refusesAll([
      (_body, genuine) => genuine.replace("sha256=", "foo="),
      (_body, genuine) => `foo=${genuine}`,
      (_body, genuine) => genuine.replace("sha256=", "SHA256="),
    ]),
  },
  {
    title: "refuses the right digits with text after them",
    fix: "Buffer.from ignores what follows the hex digits: require exactly 64 of them.",
    run: refusesAll([(_body, genuine) => `${genuine}zz`, (_body, genuine) => `${genuine}=`]),
  },
  {
    title: "refuses forgeries by PUT, PATCH and DELETE",
    fix: "Verification that only POST passes through protects no other method: respond to those with 405.",
    async run(probe) {
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        await refuses(async (delivery) => ({ ...(await forged(delivery)), method }))(probe);
      }
    },
  },
];
