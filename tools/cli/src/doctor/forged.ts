import { Enough, isError, replyText, type Examining } from "./examining.js";
import { finding, type Finding, type FindingId } from "./findings.js";
import { isSuccess, type Probe, type Reply } from "./probe.js";

/** The estimated number of forged deliveries. The actual number depends on the sender and the secret. */
export const forgedProbes = 55;

/**
 * Sends deliveries that must be rejected, and adds a finding for each mistake. The findings are added even if a rate
 * limit or a lockout ends the examination.
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
      // A receiver need not respond to an empty or compressed body, or to a method other than POST.
      const mayHang = probe.body.length === 0 || probe.method !== "POST" || id === compressed;
      const reply = await (mayHang ? send : ask)(probe);
      if (isSuccess(reply)) accepted.push(finding(id, replyText(reply)));
      else if (isError(reply) && !notSent.has(id)) errors.push(reply);
    }
    if (isSuccess(genuineReply)) after = await afterForgeries(examining);
  } finally {
    findings.push(...distinct(accepted, genuineReply));
    // Reports only errors that a wrong signature causes. After a lockout, genuine deliveries get the same status as
    // forged ones. A receiver that fails on every delivery responds to genuine deliveries with a server error too.
    const own = errors.filter(({ status }) => status !== after?.status);
    if (own.length > 0 && !isError(genuineReply)) {
      findings.push(finding("forgery_is_an_error", own.map(replyText).join(" ")));
    }
  }
  if (after) expectUnlocked(after);
}

export const genuineAfterForgeries = ({ bodies }: Pick<Examining, "bodies">): Probe => ({
  name: "a genuine delivery after wrong signatures",
  body: bodies.plain(),
});

/** Sends a plain genuine delivery, to check whether the receiver locks out the sender after wrong signatures. */
export const afterForgeries = (examining: Examining): Promise<Reply> => {
  examining.expectMore(1);
  return examining.ask(genuineAfterForgeries(examining));
};

/**
 * Ends the examination if the receiver does not accept a genuine delivery after wrong signatures, as in a lockout. A
 * lockout is correct, but further probes would show nothing more.
 *
 * @throws Enough if the genuine delivery got no 2xx response
 */
export function expectUnlocked(reply: Reply): void {
  if (isSuccess(reply)) return;
  const reaction = reply.status === null ? "does not respond to" : "refuses";
  throw new Enough(
    `everything else, because the receiver ${reaction} genuine deliveries after wrong signatures, as a lockout would: ${replyText(reply)}`,
    reply,
  );
}

/** Removes findings with the same cause, so that each mistake is reported once. */
function distinct(accepted: readonly Finding[], genuineReply: Reply): readonly Finding[] {
  const has = (id: FindingId) => accepted.some((candidate) => candidate.id === id);
  const unsigned = accepted.find(({ id }) => id === "unsigned_accepted");
  // A receiver that accepts unsigned deliveries accepts the other forgeries for the same reason.
  if (unsigned) return [unsigned];
  // A receiver that rejects genuine deliveries may have no secret, and one that accepts a wrong secret compares
  // nothing. Either explains the findings in `explained`.
  const isExplained = !isSuccess(genuineReply) || has("wrong_secret_accepted");
  return accepted.filter(
    ({ id }, index) =>
      accepted.findIndex((candidate) => candidate.id === id) === index &&
      !(isExplained && explained.has(id)),
  );
}

const compressed: FindingId = "compressed_accepted";

/** The findings about deliveries that no sender sends. A server error in response to them causes no retries. */
const notSent: ReadonlySet<FindingId> = new Set(["some_unsigned_accepted", compressed]);

const explained: ReadonlySet<FindingId> = new Set([
  "missing_secret_accepted",
  "plain_hash_accepted",
  "short_signature_accepted",
  compressed,
]);

/** Removes the finding about compressed bodies if there is one about a parser, which decompresses bodies too. */
export const withoutCompressed = (findings: readonly Finding[]): readonly Finding[] =>
  findings.some(({ id }) => id === "parser_before_receiver")
    ? findings.filter(({ id }) => id !== compressed)
    : findings;
