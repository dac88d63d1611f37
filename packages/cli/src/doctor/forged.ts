import { Enough, isError, saw, type Examining } from "./examining.js";
import { finding, type Finding, type FindingId } from "./findings.js";
import { isSuccess, type Probe, type Reply } from "./probe.js";

/** The usual number of deliveries that must be rejected. It depends on the sender and on the secret. */
export const forgedProbes = 55;

/**
 * Sends deliveries that must be rejected. Their findings are recorded even if a rate limit or a lockout ends the
 * examination.
 */
export async function examineForgeries(genuineReply: Reply, examining: Examining): Promise<void> {
  const { ask, bodies, expectMore, findings, send, signing } = examining;
  const body = bodies.plain();
  const errors: Reply[] = [];
  const accepted: Finding[] = [];
  let after: Reply | undefined;
  try {
    const forgeries = await signing.forgeriesOf(body, bodies.plain());
    expectMore(forgeries.length - forgedProbes);
    for (const [id, probe] of forgeries) {
      // A receiver may not respond to an empty or compressed body, or to another method.
      const mayHang = probe.body.length === 0 || probe.method !== "POST" || id === compressed;
      const reply = await (mayHang ? send : ask)(probe);
      if (isSuccess(reply)) accepted.push(finding(id, saw(reply)));
      else if (isError(reply) && !notSent.has(id)) errors.push(reply);
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
 * Ends the examination if the receiver does not accept a genuine delivery after wrong signatures, as in a lockout. A
 * lockout is correct, but further probes would show nothing more.
 *
 * @throws Enough if the genuine delivery was rejected
 */
export function expectUnlocked(reply: Reply): void {
  if (isSuccess(reply)) return;
  const reaction = reply.status === null ? "does not respond to" : "refuses";
  throw new Enough(
    `everything else, because the receiver ${reaction} genuine deliveries after wrong signatures, as a lockout would: ${saw(reply)}`,
    reply,
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

const compressed: FindingId = "compressed_accepted";

/** The findings about deliveries that the service does not send, and so never retries after a server error. */
const notSent: ReadonlySet<FindingId> = new Set(["some_unsigned_accepted", compressed]);

const explained: ReadonlySet<FindingId> = new Set([
  "missing_secret_accepted",
  "plain_hash_accepted",
  "short_signature_accepted",
  compressed,
]);

/** Removes the finding about compressed bodies if the body was parsed before it was verified, as both are then. */
export const withoutCompressed = (findings: readonly Finding[]): readonly Finding[] =>
  findings.some(({ id }) => id === "parser_before_receiver")
    ? findings.filter(({ id }) => id !== compressed)
    : findings;
