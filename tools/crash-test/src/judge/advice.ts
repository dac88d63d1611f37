import { statusResponse } from "../faults.js";
import type { Crossing, FindingKind, History } from "../history.js";
import { factsOf } from "./facts.js";
import type { Deviation, Expected } from "./judge.js";

/** The facts about a finding that determine its advice. */
interface Case {
  readonly effect: string;
  /** The crossings of the history that may have the effect. */
  readonly crossings: readonly Crossing[];
  /** The crossings of the undisturbed history that may have the effect. */
  readonly normal: readonly Crossing[];
  readonly history: History;
  readonly expected: Expected;
  readonly event: number | undefined;
}

interface Rule {
  readonly when: (subject: Case) => boolean;
  readonly text: (effect: string, subject: Case) => string;
}

const always = () => true;
const isCall = ({ normal, crossings }: Case) =>
  [...normal, ...crossings].some(({ kind }) => kind === "call");
const hasKey = ({ crossings }: Case) => crossings.every(({ key }) => key !== undefined);
const isInTransaction = ({ normal, crossings }: Case) =>
  (normal.length > 0 ? normal : crossings).some(({ transaction }) => transaction !== undefined);

/** Returns the crossing that completes the event in the undisturbed history. */
const completion = ({ expected: { undisturbed }, event }: Case) =>
  undisturbed.crossings.find(
    (crossing) =>
      crossing.kind === "store" &&
      crossing.name.startsWith("complete") &&
      (event === undefined || factsOf(undisturbed).eventOf(crossing) === event),
  );

/** Returns whether the code makes a call with the effect after its own transaction has completed the event. */
const isAfterCommit = (subject: Case) => {
  const completed = completion(subject);
  return completed?.transaction !== undefined && subject.normal.some(({ n }) => n > completed.n);
};

/** Returns whether a crossing was still pending, or not made yet, when its delivery was acknowledged. */
const isUnawaited = ({ normal, history, crossings, expected }: Case) =>
  normal.some((crossing) => outlives(expected.undisturbed, crossing)) ||
  crossings.some((crossing) => outlives(history, crossing));

function outlives({ attempts }: History, { attempt, settledMs, issuedMs }: Crossing): boolean {
  const delivery = attempt === undefined ? undefined : attempts[attempt];
  if (delivery?.endedMs === undefined || delivery.status === undefined || delivery.status >= 300)
    return false;
  return issuedMs > delivery.endedMs || settledMs === undefined || settledMs > delivery.endedMs;
}

const isSwallowed = ({ crossings, history: { attempts } }: Case) =>
  crossings.some(({ isRejected, attempt }) => {
    const status = attempt === undefined ? undefined : attempts[attempt]?.status;
    return isRejected && status !== undefined && status < 300;
  });

/** Returns a call that rejected because of a fault, and whose delivery was then acknowledged without the effect. */
const swallowedOther = ({ history, effect, event }: Case): Crossing | undefined => {
  const failed = new Set(
    history.steps.flatMap((step) =>
      step.type === "fault" && /^(?:fail|response_lost)$/.test(step.fault) ? [step.crossing] : [],
    ),
  );
  return history.crossings.find(
    ({ n, kind, attempt }) =>
      failed.has(n) &&
      kind !== "store" &&
      attempt !== undefined &&
      history.attempts[attempt]?.event === (event ?? history.attempts[attempt]?.event) &&
      factsOf(history).endsWithout(attempt, effect),
  );
};

const isParked = ({ history: { attempts }, event }: Case) =>
  attempts.some(
    (attempt) => attempt.code === "parked" && attempt.event === (event ?? attempt.event),
  );

const isRead = ({ expected: { undisturbed }, normal, effect }: Case) => {
  const first = Math.min(...normal.map(({ n }) => n));
  return undisturbed.crossings.some(({ n, reads }) => n < first && reads.includes(effect));
};

const keysDiffer = ({ crossings }: Case) => new Set(crossings.map(({ key }) => key)).size > 1;

/** Returns whether a statement waits for a connection while the code of the same delivery holds a transaction. */
const waitsForItsOwn = ({ history: { crossings } }: Case) =>
  crossings.some(({ waitsForOwn, kind }) => waitsForOwn && kind !== "store");

/** Returns the number of calls in the undisturbed history: those of the event or, if it is unknown, of all events. */
const callsIn = ({ normal, event, expected: { undisturbed } }: Case): number =>
  normal.filter(
    (crossing) => event === undefined || factsOf(undisturbed).eventOf(crossing) === event,
  ).length;

/** Describes the key that a call needs. Several calls of one event need different keys; otherwise they count as one. */
const keyFor = (subject: Case): string =>
  callsIn(subject) > 1
    ? `\`context.idempotencyKey\` together with what distinguishes the ${callsIn(subject)} calls of one event, such as the id of an item`
    : "`context.idempotencyKey`";

/** Returns whether the request may be repeated without a key, provided that each run sends the same request. */
const isRepeatable = ({ crossings, effect }: Case) =>
  /^(?:PUT|DELETE) /.test(effect) && crossings.every(({ isRequest }) => isRequest);

/** The fix for a call to an API that ignores keys. */
const orJob =
  'If its API honors no key, use an outbox: store the call as a job in the transaction that completes the event (recipe "Effects after the commit").';

const rules: Readonly<Record<FindingKind, readonly Rule[]>> = {
  duplicate: [
    {
      when: (subject) => isCall(subject) && !hasKey(subject) && isRepeatable(subject),
      text: (effect, subject) =>
        `Another run sends a different \`${effect}\`, so it is not the same request again. Send the same body, without the time or a random value, or pass a key: ${keyFor(subject)}.`,
    },
    {
      when: (subject) => isCall(subject) && !hasKey(subject) && isInTransaction(subject),
      text: (effect, subject) =>
        `A rollback does not undo \`${effect}\`. Pass a key: ${keyFor(subject)}. ${orJob}`,
    },
    {
      when: (subject) => isCall(subject) && !hasKey(subject),
      text: (effect, subject) =>
        callsIn(subject) > 1
          ? `Pass a different key to each call of \`${effect}\`: ${keyFor(subject)}. ${orJob}`
          : `Pass \`context.idempotencyKey\` to \`${effect}\`. ${orJob}`,
    },
    {
      when: (subject) => isCall(subject) && keysDiffer(subject),
      text: (effect, subject) =>
        `The key of \`${effect}\` changes from run to run. Use only ${keyFor(subject)}${callsIn(subject) > 1 ? "" : " as the key"}.`,
    },
    {
      when: always,
      text: (effect) =>
        `Write to \`${effect}\` inside \`store.transaction\`, or add a unique column with the idempotency key.`,
    },
  ],
  different: [
    {
      when: isRead,
      text: (effect) =>
        `More than one run may have changed \`${effect}\`. Read and write in one statement inside \`store.transaction\`.`,
    },
    {
      when: isInTransaction,
      text: (effect) =>
        `The value written to \`${effect}\` probably comes from the process's memory. Compute it in the database.`,
    },
    {
      when: always,
      text: (effect) =>
        `Each run writes \`${effect}\` again. Write to it inside \`store.transaction\`, and if the value comes from the process's memory, compute it in the database.`,
    },
  ],
  lost: lostRules(),
  partial: lostRules(),
  order_dependent: [
    {
      when: always,
      text: (effect) =>
        `A late retry overwrites newer data in \`${effect}\`. Compare the times of the events in the statement, and write only if the event is newer.`,
    },
  ],
  stuck: [
    {
      when: waitsForItsOwn,
      text: () =>
        "The statement waits for a connection that its own transaction holds. Run it with `tx`.",
    },
    {
      when: ({ history: { crossings } }) => crossings.some(({ waitsForOwn }) => waitsForOwn),
      text: () =>
        "The handler ended, but its transaction did not, so its connection was not released. Use `store.transaction`, or commit or roll back and release the client in `finally`.",
    },
    {
      when: ({ history: { stuck } }) => stuck !== undefined,
      text: (effect) =>
        `\`${effect}\` never finishes, even after all faults are over. Set a timeout, and make sure that every transaction ends.`,
    },
    {
      when: always,
      text: () =>
        "Every attempt still fails after all faults are over, probably because an earlier run left something behind that this handler does not expect. Let the handler succeed if its work is already done.",
    },
  ],
};

function lostRules(): readonly Rule[] {
  return [
    {
      when: isParked,
      text: () =>
        "The handler parked the event because of a temporary fault. Throw `PermanentError` only if no retry can ever succeed.",
    },
    {
      when: (subject) => isAfterCommit(subject) && !isCall(subject),
      text: (effect) =>
        `The commit completes the event, so no later run reaches \`${effect}\`. Move this write into the same transaction.`,
    },
    {
      when: isAfterCommit,
      text: (effect) =>
        `The commit completes the event, so no later run reaches \`${effect}\`. Use an outbox, or make the call before the transaction, with an idempotency key.`,
    },
    {
      when: isSwallowed,
      text: (effect) =>
        `The handler resolved although \`${effect}\` rejected. Let the handler reject too, so that the sender retries.`,
    },
    { when: isUnawaited, text: (effect) => `\`${effect}\` is not awaited. Await or return it.` },
    {
      when: (subject) => swallowedOther(subject) !== undefined,
      text: (effect, subject) =>
        `The handler resolved although \`${swallowedOther(subject)?.name ?? ""}\` rejected, so \`${effect}\` is missing. Await this call, and let the handler reject too, so that the sender retries.`,
    },
    {
      when: always,
      text: (effect, subject) =>
        `A later run ended before it reached \`${effect}\`${causeOf(subject)}. Mark the event as handled only after the effect, or in the same transaction.`,
    },
  ];
}

/** Describes the probable reason why a run ended early: the reply to its last call, or a value in the process. */
function causeOf({ history, effect, event }: Case): string {
  const ended = history.attempts.findIndex(
    (attempt, index) =>
      attempt.event === (event ?? attempt.event) && factsOf(history).endsBefore(index, effect),
  );
  if (ended === -1) return "";
  const last = history.crossings.findLast(
    ({ attempt, kind }) => attempt === ended && kind !== "store",
  );
  if (!last)
    return " without another call, so the cause is probably a value in memory or in `context`";
  return `, after \`${last.name}\`${last.note === undefined ? "" : ` (${last.note})`}`;
}

/** Returns a request to which the fault `status` responded, and whose handler awaited it but resolved nevertheless. */
const uncheckedIn = (history: History): Crossing | undefined =>
  history.crossings.find((crossing) => {
    if (crossing.hasStatusFault !== true || crossing.attempt === undefined) return false;
    const { status = 500, code } = history.attempts[crossing.attempt] ?? {};
    return status < 300 && code !== "parked" && !outlives(history, crossing);
  });

/**
 * Returns the advice of the first rule that matches. Unless the effect follows the commit, a request whose status the
 * handler does not check comes before all rules, because it may cause any finding.
 */
export function adviceFor(deviation: Deviation, history: History, expected: Expected): string {
  const { kind, effect, event } = deviation;
  const subject: Case = {
    effect,
    event,
    history,
    expected,
    crossings: factsOf(history)
      .crossings(effect)
      .filter(({ issuedMs }) => issuedMs >= 0),
    normal: factsOf(expected.undisturbed).crossings(effect),
  };
  const unchecked = isAfterCommit(subject) ? undefined : uncheckedIn(history);
  if (unchecked) {
    return `The handler resolved although \`${unchecked.name}\` responded ${statusResponse.status}. Check the status of the response, and throw unless it is 2xx (\`fetch\`: \`if (!response.ok)\`), so that the sender tries again.`;
  }
  const rule = rules[kind].find(({ when }) => when(subject));
  return rule?.text(effect, subject) ?? "";
}

/** Returns the place in the code that made the call to which a finding refers, or undefined if it is unknown. */
export function sourceOf(
  { kind, effect, event }: Deviation,
  history: History,
  { undisturbed }: Expected,
): string | undefined {
  const occurrences = factsOf(history)
    .effects(effect)
    .filter((occurrence) => event === undefined || occurrence.event === event);
  const last = occurrences.at(-1)?.crossing;
  const repeated =
    kind === "duplicate" && last !== undefined ? history.crossings[last - 1] : undefined;
  const crossings = [
    ...(repeated ? [repeated] : []),
    ...factsOf(undisturbed).crossings(effect),
    ...factsOf(history).crossings(effect),
  ];
  return (
    crossings.find(({ source }) => source !== undefined)?.source ??
    onlyStatement(undisturbed)?.source
  );
}

/** Returns the statement that may have written a table through a view or function. Undefined unless only one may. */
function onlyStatement({ crossings }: History): Crossing | undefined {
  const able = crossings.filter(
    ({ kind, name, effects, reads, source }) =>
      kind === "statement" &&
      source !== undefined &&
      (effects.length > 0 || reads.length === 0) &&
      !changesNoRow.test(name),
  );
  return able.length === 1 ? able[0] : undefined;
}

/** Matches statements that only control a transaction or a session. */
const changesNoRow = /^(?:begin|start|commit|end|rollback|abort|savepoint|release|set|reset)\b/i;
