import { randomBytes } from "node:crypto";
import { sign } from "@svc-webhooks/core";
import { plain } from "./bodies.js";
import { isError, saw, type Examining } from "./examining.js";
import { finding, type Finding } from "./findings.js";
import { signedWith } from "./guesses.js";
import { isSuccess, type Reply } from "./probe.js";

/** A body with the signature of a secret that nobody has. */
export async function forgery(body = plain()): Promise<{ body: Uint8Array; signature: string }> {
  return { body, signature: await sign(body, `whsec_${randomBytes(24).toString("base64")}`) };
}

/** How many of them there are. */
export const forgedProbes = 9;

/** Deliveries that must be refused. */
export async function examineForgeries(
  genuineReply: Reply,
  { ask, findings, secret }: Examining,
): Promise<void> {
  const body = plain();
  const genuine = await sign(body, secret);
  const { signature: forged } = await forgery(body);
  const probes = [
    ["unsigned_accepted", "a delivery without a signature", undefined],
    ["wrong_secret_accepted", "a signature of another secret", forged],
    ["altered_body_accepted", "the signature of another body", await sign(plain(), secret)],
    ["prefix_not_checked", "a signature without sha256=", genuine.slice("sha256=".length)],
    ["prefix_not_checked", "a signature after foo=", genuine.replace("sha256=", "foo=")],
    ["missing_secret_accepted", "a signature of the empty secret", signedWith("", body)],
    [
      "missing_secret_accepted",
      "a signature of the secret undefined",
      signedWith("undefined", body),
    ],
    ["short_signature_accepted", "the first 16 digits of a signature", genuine.slice(0, 23)],
    ["wrong_secret_accepted", "an empty signature", ""],
  ] as const;
  const errors: Reply[] = [];
  const accepted: Finding[] = [];
  for (const [id, name, signature] of probes) {
    const reply = await ask({ name, body, signature });
    if (isSuccess(reply)) accepted.push(finding(id, saw(reply)));
    else if (isError(reply)) errors.push(reply);
  }
  // A receiver that accepts unsigned deliveries accepts every other forgery for the same reason.
  const unsigned = accepted.find(({ id }) => id === "unsigned_accepted");
  // One without a secret refuses genuine deliveries, and one that accepts any secret accepts none at all.
  const isExplained =
    !isSuccess(genuineReply) || accepted.some(({ id }) => id === "wrong_secret_accepted");
  const distinct = accepted.filter(
    ({ id }, index) =>
      accepted.findIndex((one) => one.id === id) === index &&
      !(isExplained && id === "missing_secret_accepted"),
  );
  findings.push(...(unsigned ? [unsigned] : distinct));
  // A receiver that fails on everything fails on forgeries for the same reason.
  if (errors.length > 0 && !isError(genuineReply)) {
    findings.push(finding("forgery_is_an_error", errors.map(saw).join(" ")));
  }
}
