import { verify } from "@svc-webhooks/core";
import { isGenuine } from "../byhand/signature.js";
import { signatureOf } from "../deliveries.js";
import type { Verifier } from "./verifier.js";

/** No check of its own but the comparison. */
export const floor: Verifier = {
  name: "createHmac + timingSafeEqual",
  prepare(genuine, secret) {
    const signature = signatureOf(genuine, secret);
    return (body) => isGenuine(body, signature, secret);
  },
};

/** Ours, from whichever build of the core. */
export const ours = (name: string, verifyIt: typeof verify = verify): Verifier => ({
  name,
  prepare(genuine, secret) {
    const signature = signatureOf(genuine, secret);
    return (body) => verifyIt(body, signature, secret);
  },
});
