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

/** The outcome of a request, and the texts that the receiver logs for it. */
export interface Judgment {
  readonly outcome: Outcome;
  /** Whether the signature is genuine and its time is tolerated. */
  readonly isGenuine: boolean;
  readonly text: OutcomeText;
  /** The details that the receiver logs. Empty if there are none. */
  readonly details: string;
}

/** The largest `maxBodyBytes` that a receiver accepts, in bytes. */
const mostBytes = 104_857_600;

/**
 * Passes a request to a receiver whose only handler does nothing. Each call creates a new receiver, so a copy of a
 * request is not a duplicate.
 *
 * @throws ConfigError (as a rejection) for a secret that the scheme refuses
 */
export async function judge(scheme: Scheme, secret: Secrets, arrived: Arrived): Promise<Judgment> {
  const detailsByCode = new Map<string, string>();
  const log = (_text: string, { code, details }: LogFields) => {
    if (details) detailsByCode.set(code, `${details}.`);
  };
  const receiver = createReceiver({
    scheme,
    secret,
    // Compares a signed time with the time of arrival, not with the current time.
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
