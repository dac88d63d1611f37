import { createHash, randomBytes } from "node:crypto";
import { sign } from "@svc-webhooks/core";
import { Enough, isError, saw, type Examining } from "./examining.js";
import { finding, type Finding, type FindingId } from "./findings.js";
import { signedWith } from "./guesses.js";
import { isSuccess, type Probe, type Reply } from "./probe.js";

/** Signs a body with a random secret. */
export async function forgery(body: Uint8Array): Promise<{ body: Uint8Array; signature: string }> {
  return { body, signature: await sign(body, `whsec_${randomBytes(24).toString("base64")}`) };
}

type Forgery = readonly [id: FindingId, name: string, change: Partial<Omit<Probe, "name">>];

const signed = (id: FindingId, name: string, signature: string): Forgery => [
  id,
  name,
  { signature },
];

const otherDigit = (digit: string) => (digit === "0" ? "1" : "0");

const empty = new Uint8Array();

const formType = { "content-type": "application/x-www-form-urlencoded" };

/** Returns deliveries that must be rejected, each with the id of the finding if it is accepted. */
async function forgeriesOf(
  body: Uint8Array,
  { bodies, secret }: Examining,
): Promise<readonly Forgery[]> {
  const genuine = await sign(body, secret);
  const { signature: forged } = await forgery(body);
  const hash = createHash("sha256").update(body).digest("hex");
  const unsigned = { signature: undefined };
  return [
    ["unsigned_accepted", "a delivery without a signature", unsigned],
    ["some_unsigned_accepted", "a later attempt without a signature", { ...unsigned, attempt: 2 }],
    ["some_unsigned_accepted", "a form without a signature", { ...unsigned, headers: formType }],
    ["some_unsigned_accepted", "an empty body without a signature", { ...unsigned, body: empty }],
    signed("wrong_secret_accepted", "a signature of another secret", forged),
    signed(
      "altered_body_accepted",
      "the signature of another body",
      await sign(bodies.plain(), secret),
    ),
    signed("plain_hash_accepted", "the SHA-256 of the body", `sha256=${hash}`),
    signed("prefix_not_checked", "a signature without sha256=", genuine.replace("sha256=", "")),
    signed("prefix_not_checked", "a signature after foo=", genuine.replace("sha256=", "foo=")),
    signed("prefix_not_checked", "a signature after SHA256=", genuine.replace("sha", "SHA")),
    ...["", "undefined", "null"].map((key) =>
      signed(
        "missing_secret_accepted",
        key === "" ? "a signature of the empty secret" : `a signature of the secret ${key}`,
        signedWith(key, body),
      ),
    ),
    signed("short_signature_accepted", "the first 16 digits of a signature", genuine.slice(0, 23)),
    signed("short_signature_accepted", "sha256= without digits", genuine.slice(0, 7)),
    signed(
      "short_signature_accepted",
      "a signature whose first digit is wrong",
      genuine.replace(/(?<==)./, otherDigit),
    ),
    signed(
      "short_signature_accepted",
      "a signature whose last digit is wrong",
      genuine.replace(/.$/, otherDigit),
    ),
    signed("wrong_secret_accepted", "an empty signature", ""),
  ];
}

/** The number of deliveries that must be rejected. */
export const forgedProbes = 18;

/**
 * Sends deliveries that must be rejected. Their findings are recorded even if a rate limit or a lockout ends the
 * examination.
 */
export async function examineForgeries(genuineReply: Reply, examining: Examining): Promise<void> {
  const { ask, bodies, findings, send } = examining;
  const body = bodies.plain();
  const errors: Reply[] = [];
  const accepted: Finding[] = [];
  let after: Reply | undefined;
  try {
    for (const [id, name, change] of await forgeriesOf(body, examining)) {
      // The service sends neither forms nor empty bodies, so it never retries one after a server error. A receiver that
      // waits for a body may not respond to an empty one.
      const isSent = !change.headers && !change.body;
      const reply = await (change.body ? send : ask)({ name, body, ...change });
      if (isSuccess(reply)) accepted.push(finding(id, saw(reply)));
      else if (isError(reply) && isSent) errors.push(reply);
    }
    if (isSuccess(genuineReply)) after = await afterForgeries(examining);
  } finally {
    findings.push(...distinct(accepted, genuineReply));
    // A receiver that fails on every delivery, or has locked out the sender, fails on forgeries for the same reason.
    const own = errors.filter(({ status }) => status !== after?.status);
    if (own.length > 0 && !isError(genuineReply)) {
      findings.push(finding("forgery_is_an_error", own.map(saw).join(" ")));
    }
  }
  if (after) expectUnlocked(after);
}

export const genuineAfterForgeries = ({ bodies }: Pick<Examining, "bodies">): Probe => ({
  name: "a genuine delivery after wrong signatures",
  body: bodies.plain(),
});

/** Sends the plain genuine delivery after wrong signatures. */
export const afterForgeries = (examining: Examining): Promise<Reply> => {
  examining.expectMore(1);
  return examining.ask(genuineAfterForgeries(examining));
};

/**
 * Ends the examination if the receiver locked out the sender after wrong signatures. That is correct, but further
 * probes would show nothing more.
 *
 * @throws Enough if the genuine delivery was rejected
 */
export function expectUnlocked(reply: Reply): void {
  if (isSuccess(reply)) return;
  const reaction = reply.status === null ? "does not respond to" : "refuses";
  throw new Enough(
    `everything else, because the receiver ${reaction} genuine deliveries after wrong signatures, as a lock does: ${saw(reply)}`,
  );
}

/** Removes findings with the same cause, so that each mistake is reported once. */
function distinct(accepted: readonly Finding[], genuineReply: Reply): readonly Finding[] {
  const has = (id: FindingId) => accepted.some((one) => one.id === id);
  const unsigned = accepted.find(({ id }) => id === "unsigned_accepted");
  // A receiver that accepts unsigned deliveries accepts every other forgery for the same reason.
  if (unsigned) return [unsigned];
  // A receiver that rejects genuine deliveries may have no secret, and one that accepts a wrong secret compares
  // nothing. Either explains the other findings.
  const isExplained = !isSuccess(genuineReply) || has("wrong_secret_accepted");
  return accepted.filter(
    ({ id }, index) =>
      accepted.findIndex((one) => one.id === id) === index && !(isExplained && explained.has(id)),
  );
}

const explained: ReadonlySet<FindingId> = new Set([
  "missing_secret_accepted",
  "plain_hash_accepted",
  "short_signature_accepted",
] as const);
