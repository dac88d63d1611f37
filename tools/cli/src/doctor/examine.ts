import { setTimeout as pause } from "node:timers/promises";
import { isUnreachable } from "../lib/tls.js";
import { acceptedProbes, examineAccepted } from "./accepted.js";
import { Enough, replyText, type ExamineOptions } from "./examining.js";
import { finding, notJudged, type Finding } from "./findings.js";
import {
  examineForgeries,
  expectUnlocked,
  forgedProbes,
  genuineAfterForgeries,
  withoutCompressed,
} from "./forged.js";
import { examineGenuine } from "./genuine.js";
import { isSuccess, type Reply, type Send } from "./probe.js";

export interface Examination {
  readonly probes: readonly Reply[];
  readonly findings: readonly Finding[];
  readonly not_judged: readonly NotJudged[];
  /** The number of planned probes. Present only if a rate limit, a lockout or a finding ended the examination early. */
  readonly stoppedBefore?: number;
}

/** A property of the receiver that was not checked, in some cases with the reason. */
export interface NotJudged {
  readonly text: string;
  /** Whether this project wrote the whole text. If false, the text quotes the reason for a missing response. */
  readonly isOurs: boolean;
}

const ours = (text: string): NotJudged => ({ text, isOurs: true });

/** How long an exiting process may take to close its port, in milliseconds. */
const endingMs = 300;

/** Sends the probes, until one of them ends the examination. Resolves to the replies and what they reveal. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const probes: Reply[] = [];
  const findings: Finding[] = [];
  const notSent: NotJudged[] = [];
  let stoppedBefore: number | undefined;
  let expected = 1 + forgedProbes + acceptedProbes;
  /** Whether a probe with a wrong or missing signature was sent. After that, a receiver may lock out the sender. */
  let hasForged = false;
  const send: Send = async (probe) => {
    options.onProbe(probe, (probes.length + 1) / expected);
    hasForged ||= probe.headers !== undefined;
    const reply = await options.send(probe);
    probes.push(reply);
    if (reply.status === 429) {
      throw new Enough(`everything else, because of a rate limit: ${replyText(reply)}`, reply);
    }
    return reply;
  };
  /** Sends a genuine delivery, or two if the connection of the first one is closed without a response. */
  const sendGenuine = async () => {
    expected += 1;
    const reply = await send(genuineAfterForgeries(options));
    if (lostReply(reply)?.id !== "connection_closed") return reply;
    // An exiting process resets connections until its port is closed.
    await pause(endingMs);
    expected += 1;
    return send(genuineAfterForgeries(options));
  };
  /** Sends a probe to which every receiver must respond. Without a response, the examination ends. */
  const ask: Send = async (probe) => {
    const reply = await send(probe);
    let lost = lostReply(reply, hasForged);
    if (!lost) return reply;
    // A genuine delivery shows the cause: after a lockout, it gets no response either; after a crash, nothing listens.
    // It is accepted if the process has been restarted, or if the receiver does not respond to forgeries.
    if (hasForged && isDropped(lost)) {
      const genuine = await sendGenuine();
      if (isDropped(lostReply(genuine))) expectUnlocked(genuine);
      if (isSuccess(genuine)) lost = { ...lost, ...droppedForgery };
    }
    findings.push(lost);
    throw new Enough();
  };
  const expectMore = (more: number) => void (expected += more);
  const examination = { ...options, send, ask, expectMore, findings };
  try {
    const genuine = await examineGenuine(examination);
    await examineForgeries(genuine, examination);
    if (isSuccess(genuine)) await examineAccepted(examination);
    else
      notSent.push(
        ours("exact bytes, copies, sizes and chunks, because genuine deliveries are refused"),
      );
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
    notSent.push({
      text: error.message || "everything else, because a finding ended the examination",
      isOurs: error.reply?.status !== null,
    });
    stoppedBefore = expected;
  }
  const examined = {
    probes,
    findings: withoutCompressed(findings),
    not_judged: [...notSent, ...[...options.signing.skipped, ...notJudged].map(ours)],
  };
  return stoppedBefore === undefined ? examined : { ...examined, stoppedBefore };
}

/**
 * Returns the finding about a missing response, or undefined if there was a response.
 *
 * @param hasForged whether a wrong or missing signature was sent before, which may be why the server is unreachable
 */
export function lostReply(reply: Reply, hasForged = false): Finding | undefined {
  if (reply.status !== null) return undefined;
  if (reply.tls !== undefined) return finding("tls", replyText(reply), { cause: reply.tls });
  if (reply.error === "timeout") return finding("hangs", replyText(reply));
  if (!isUnreachable(reply.error ?? "")) return finding("connection_closed", replyText(reply));
  return finding("unreachable", replyText(reply), hasForged ? endedByForgery : {});
}

const endedByForgery = {
  cause:
    "After deliveries with wrong signatures, the server stopped accepting connections. Its process probably exited, or a firewall locked this machine out.",
  fix: "Look for an exception in the receiver's log. If a lockout is the reason, turn it off while this command runs.",
};

const droppedForgery = {
  cause:
    "When a signature is wrong or missing, the receiver sends no response, either deliberately or because of an error, such as a crash of its process.",
  fix: "Respond with 401. If the missing response is not deliberate, look for an exception in the receiver's log.",
};

/** Returns whether no response arrived although the server accepted the connection, or may have accepted it. */
const isDropped = (lost: Finding | undefined) =>
  lost !== undefined && lost.id !== "unreachable" && lost.id !== "tls";
