import {
  createReceiver,
  systemClock,
  type LogFields,
  type Outcome,
  type Scheme,
  type Secrets,
} from "@svc-webhooks/core";
import { outcomeText, type OutcomeText } from "@svc-webhooks/core/outcomes";
import { headerOf, type Arrived } from "./arrived.js";

/** The outcome of a request, and the line that the receiver logged. */
export interface Judgement {
  readonly outcome: Outcome;
  /** Whether the signature is genuine and its time is tolerated. */
  readonly isGenuine: boolean;
  readonly text: OutcomeText;
  /** The details that the receiver logs. Empty if there are none. */
  readonly details: string;
}

/** The largest `maxBodyBytes` of a receiver. */
const mostBytes = 104_857_600;

/**
 * Receives a request with a receiver that has one handler, which does nothing. Each call has a new receiver, so a
 * copy is not a duplicate.
 *
 * @throws ReceiverConfigError (as a rejection) for a secret that the scheme refuses
 */
export async function judge(scheme: Scheme, secret: Secrets, arrived: Arrived): Promise<Judgement> {
  const detailsByCode = new Map<string, string>();
  const log = (_text: string, { code, details }: LogFields) => {
    if (details) detailsByCode.set(code, `${details}.`);
  };
  const receiver = createReceiver({
    scheme,
    secret,
    // The time of day does not pass.
    clock: { ...systemClock, now: () => arrived.at },
    maxBodyBytes: mostBytes,
    logProcessed: false,
    logger: { info: log, warn: log, error: log },
    on: { "*": () => {} },
  });
  const outcome = await receiver.receive({
    method: "POST",
    headers: (name) => headerOf(arrived, name),
    body: arrived.body,
  });
  const text = outcomeText(outcome.code, scheme) as OutcomeText;
  const isGenuine = outcome.secretId !== undefined && outcome.code !== "signature_stale";
  return { outcome, isGenuine, text, details: detailsByCode.get(outcome.code) ?? "" };
}
