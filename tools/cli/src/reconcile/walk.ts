import { isSvcError, type Client, type SvcError, type WebhookEvent } from "@svc-webhooks/client";
import { codeOf } from "@svc-webhooks/core/adapter";
import { reconcile, type ReconcileReport } from "@svc-webhooks/core/reconcile";
import { Failure } from "../errors.js";
import type { Progress } from "../lib/terminal/progress.js";
import { shortTime } from "../lib/terminal/time.js";
import type { ReadJobs } from "./jobs.js";
import type { Records } from "./receiver.js";

interface Walk {
  readonly client: Client;
  readonly records: Records;
  readonly readJobs: ReadJobs | undefined;
  readonly webhook_endpoint_id: string;
  readonly since: Date;
  /** When the first of the compared records may expire, in milliseconds since the epoch. */
  readonly untilMs: number;
  readonly graceMs: number;
  /** The types to judge. Empty: all. */
  readonly types: readonly string[];
  /** The maximum number of deliveries to request again, or undefined if the command only reports. */
  readonly maxRedeliver: number | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** The result of a walk that may have ended early. */
export interface Walked {
  readonly report: ReconcileReport;
  /** Whether the list was read to its end, or to `since`. */
  readonly isComplete: boolean;
  /** The number of missing deliveries that could not be requested, because no URL can contain their event id. */
  readonly unusable: number;
  /** The service's first message for status 409 (`skipped`), and the first one for any other error (`refused`). */
  readonly messages: { readonly skipped?: string; readonly refused?: string };
  /** The error that ended the list, the redelivery or the second look for lost deliveries; or `signal.reason`. */
  readonly error?: unknown;
}

/**
 * Compares the deliveries of an endpoint with the records of a receiver. If the list ends with an error or by Ctrl-C,
 * compares the deliveries that were read until then. With a queue, looks for lost deliveries in the queue and the store
 * a second time. If that fails, they stay lost in the report. If Ctrl-C interrupts a call to the store, the report
 * omits the deliveries of that call.
 *
 * @throws Failure, or an error of the records or the queue (as rejections)
 */
export async function walk(options: Walk): Promise<Walked> {
  const { client, records, readJobs, types, maxRedeliver, signal } = options;
  const { webhook_endpoint_id, since, untilMs, graceMs } = options;
  const jobs = await readJobs?.();
  const show = shower(options);
  let listError: unknown;
  let lookError: unknown;
  let requested = 0;
  let unusable = 0;
  const messages: { skipped?: string; refused?: string } = {};
  const reader = readingUntil(signal, records);

  async function* listed(): AsyncGenerator<WebhookEvent> {
    const query = { webhook_endpoint_id, limit: 100 };
    try {
      for await (const event of client.webhookEvents.list(query, { signal })) {
        if (Date.now() > untilMs) throw tooSlow();
        yield event;
        // Ends the list after an interrupted call: comparing older deliveries would leave a gap in the report.
        if (reader.unread() > 0) return;
      }
    } catch (error) {
      listError = error;
    }
  }

  try {
    const compared = await reconcile({
      list: listed(),
      receiver: reader,
      since,
      graceMs,
      map(event) {
        const { delivery_id, status, created_at, type } = Object(event) as WebhookEvent;
        show(created_at, requested);
        return {
          deliveryId: delivery_id,
          status: types.length === 0 || types.includes(type) ? status : "ignored",
          createdAt: created_at,
        };
      },
      queued: jobs && ((id) => jobs.has(id)),
      redeliver:
        maxRedeliver === undefined
          ? undefined
          : async (_id, { event_id }) => {
              const query = { webhook_endpoint_id, signal };
              await client.webhookEvents.redeliver(event_id, query).catch((error: unknown) => {
                if (isSvcError(error) && error.status !== undefined)
                  messages[error.status === 409 ? "skipped" : "refused"] ??= error.message;
                if (!isUnusableId(error)) throw error;
                unusable += 1;
                throw Object.assign(error, { status: 400 });
              });
              requested += 1;
            },
      maxRedeliver,
      onProgress: ({ at }) => reader.note(at),
    });
    const report = reader.without(compared);
    const settled =
      readJobs && !signal.aborted
        ? await lookAgain(report, records, readJobs).catch((error: unknown) => {
            lookError = error;
            return report;
          })
        : report;
    const error: unknown = listError ?? lookError ?? report.redeliverError;
    return {
      report: settled,
      isComplete: listError === undefined && reader.unread() === 0,
      unusable,
      messages,
      error: signal.aborted ? signal.reason : error,
    };
  } catch (error) {
    signal.throwIfAborted();
    throw withRequests(ofList(error), requested);
  }
}

/**
 * Returns `Records` whose calls end on Ctrl-C. The deliveries of a call that Ctrl-C interrupts, or that fails after
 * Ctrl-C, count as running, so that none of them is requested again. `without` removes them from the report.
 */
function readingUntil(signal: AbortSignal, records: Records) {
  let unread = 0;
  let comparedUntil: Date | undefined;
  const interrupted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  interrupted.catch(() => {});
  return {
    async peek(targets: Parameters<Records["peek"]>[0]) {
      try {
        const states = records.peek(targets);
        // A call after Ctrl-C is not interrupted, because it compares deliveries that were read before.
        return await (signal.aborted ? states : Promise.race([states, interrupted]));
      } catch (error) {
        if (!signal.aborted) throw error;
        unread += targets.length;
        return targets.map(() => "running" as const);
      }
    },
    unread: () => unread,
    /** Stores the time of a batch's last delivery, unless a call was interrupted. */
    note(at: Date) {
      if (unread === 0) comparedUntil = at;
    },
    without: (report: ReconcileReport): ReconcileReport =>
      unread === 0
        ? report
        : {
            ...report,
            sent: report.sent - unread,
            running: report.running - unread,
            oldestSentAt: comparedUntil,
          },
  };
}

/** Returns whether the client has refused an event id that no URL path can contain. Only its delivery is affected. */
const isUnusableId = (error: unknown): error is SvcError =>
  isSvcError(error) && error.param === "event_id" && error.status === undefined;

const tooSlow = () =>
  new Failure(
    "too_slow",
    "The comparison took so long that the oldest records may have expired, so older deliveries would be reported as lost.",
    "Shorten --since, or raise retainMs of the receiver and --retain.",
  );

/** Returns a function that updates the progress every 100 deliveries, based on the time of the last delivery. */
function shower({ since, progress }: Walk) {
  const now = Date.now();
  let count = 0;
  return (created_at: unknown, requested: number) => {
    count += 1;
    if (count % 100 > 0 || typeof created_at !== "string") return;
    const share = (now - Date.parse(created_at)) / (now - Number(since));
    const redelivered = requested > 0 ? `, ${requested} redelivered` : "";
    const text = `${count} deliveries since ${String(shortTime(created_at))}${redelivered}`;
    progress.update(Number.isNaN(share) ? 0 : Math.min(share, 1), text);
  };
}

/**
 * Looks for the jobs and records of lost deliveries once more, because a job may have been stored after the queue was
 * listed, or may have changed its state meanwhile.
 */
async function lookAgain(
  report: ReconcileReport,
  records: Records,
  readJobs: ReadJobs,
): Promise<ReconcileReport> {
  if (report.lost.length === 0) return report;
  const jobs = await readJobs();
  const states = await records.peek(report.lost.map((deliveryId) => ({ deliveryId })));
  const counts = { done: 0, running: 0, parked: 0, queued: 0 };
  const lost = report.lost.filter((id, index) => {
    const state = states[index];
    const status = jobs.has(id) ? "queued" : state;
    if (status === undefined || status === "failed") return true;
    counts[status] += 1;
    return false;
  });
  return {
    ...report,
    done: report.done + counts.done,
    running: report.running + counts.running,
    parked: report.parked + counts.parked,
    queued: report.queued + counts.queued,
    lost,
    lostCount: report.lostCount - report.lost.length + lost.length,
  };
}

const inCode =
  "If its fields differ from those that the sandbox assumes, call reconcile() of svc-webhooks/reconcile with a `map`.";
const withClock =
  "Set the clock of this machine. With the manual clock of a sandbox, call reconcile() of svc-webhooks/reconcile with its `clock`.";

const texts: Readonly<Record<string, readonly [text: string, hint: string]>> = {
  unreadable_list: ["The service listed a delivery without an id, a status or a time.", inCode],
  not_newest_first: ["The service's list of deliveries is not sorted newest first.", inCode],
  clock_behind: [
    "The service listed a delivery whose time is more than a day ahead of this machine's clock.",
    withClock,
  ],
};

/** Converts an error of `reconcile` about an unusable list to a Failure with a fix. Returns other errors unchanged. */
function ofList(error: unknown): unknown {
  const code = codeOf(error) ?? "";
  const textAndHint = error instanceof Failure ? undefined : texts[code];
  return textAndHint === undefined ? error : new Failure(code, ...textAndHint, { cause: error });
}

/** Adds to the message of a failure the number of redeliveries that were requested before the failure. */
function withRequests(error: unknown, requested: number): unknown {
  if (!(error instanceof Failure) || requested === 0) return error;
  const { code, message, hint, cause } = error;
  const before = `Missing deliveries that were redelivered before that: ${requested}.`;
  return new Failure(code, `${message} ${before}`, hint, { cause });
}
