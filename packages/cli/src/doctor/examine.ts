import { acceptedProbes, examineAccepted } from "./accepted.js";
import { Enough, saw, type ExamineOptions } from "./examining.js";
import { finding, notJudged, type Finding } from "./findings.js";
import { examineForgeries, forgedProbes } from "./forged.js";
import { examineGenuine } from "./genuine.js";
import { isSuccess, type Reply, type Send } from "./probe.js";

export interface Examination {
  readonly probes: readonly Reply[];
  readonly findings: readonly Finding[];
  readonly not_judged: readonly string[];
}

/** Sends probes until it is clear what a receiver does with each kind of delivery. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const probes: Reply[] = [];
  const findings: Finding[] = [];
  const notSent: string[] = [];
  let expected = 1 + forgedProbes + acceptedProbes;
  const send: Send = async (probe) => {
    options.onProbe(probe, (probes.length + 1) / expected);
    const reply = await options.send(probe);
    probes.push(reply);
    if (reply.status === 429) {
      throw new Enough(`everything else, because of a rate limit: ${saw(reply)}`);
    }
    return reply;
  };
  /** Sends a probe to which every receiver must respond. */
  const ask: Send = async (probe) => {
    const reply = await send(probe);
    const lost = lostReply(reply);
    if (lost) {
      findings.push(lost);
      throw new Enough();
    }
    return reply;
  };
  const expectMore = (more: number) => void (expected += more);
  const examination = { ...options, send, ask, expectMore, findings };
  try {
    const genuine = await examineGenuine(examination);
    await examineForgeries(genuine, examination);
    if (isSuccess(genuine)) await examineAccepted(examination);
    else
      notSent.push("exact bytes, copies, sizes and pieces, because genuine deliveries are refused");
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
    notSent.push(error.message || "everything else, because the remaining probes were not sent");
  }
  return { probes, findings, not_judged: [...notSent, ...notJudged] };
}

function lostReply(reply: Reply): Finding | undefined {
  if (reply.status !== null) return undefined;
  if (reply.error === "timeout") return finding("hangs", saw(reply));
  const isRefused = /ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH/.test(
    reply.error ?? "",
  );
  return finding(isRefused ? "unreachable" : "connection_closed", saw(reply));
}
