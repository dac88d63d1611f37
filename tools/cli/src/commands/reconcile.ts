import { command } from "../command.js";
import { UsageError } from "../errors.js";
import { durationOf } from "../lib/duration.js";
import { wholeNumber } from "../lib/number.js";
import { serviceOptions, withService } from "../lib/service.js";
import { createProgress } from "../lib/terminal/progress.js";
import { comparedEndpoint } from "../reconcile/endpoint.js";
import { loadJobs } from "../reconcile/jobs.js";
import { loadRecords } from "../reconcile/receiver.js";
import { jsonOf, linesOf, problemsOf } from "../reconcile/report.js";
import { walk } from "../reconcile/walk.js";

/** The largest `retainMs` that a receiver accepts. */
const longestMs = 365 * 86_400_000;

/**
 * The longest time to reserve for the comparison, in milliseconds. Handled deliveries whose records expired during the
 * comparison would be reported as lost.
 */
const longestWalkMs = 3_600_000;

const options = {
  receiver: {
    type: "string",
    default: "receiver.js",
    value: "file",
    text: "module whose default export, or export `receiver`, is your receiver",
  },
  admin: {
    type: "string",
    value: "file",
    text: "module whose default export is your inbox or its `admin`; without it, waiting jobs count as lost",
  },
  endpoint: {
    type: "string",
    value: "id",
    text: "id of the endpoint (we_…); default: the sandbox's only active endpoint",
  },
  since: {
    type: "string",
    default: "6d",
    value: "duration",
    text: "compare deliveries up to this age; must not exceed --retain",
  },
  retain: {
    type: "string",
    default: "7d",
    value: "duration",
    text: "the receiver's retainMs: how long its store keeps records",
  },
  grace: {
    type: "string",
    default: "15m",
    value: "duration",
    text: "do not judge younger deliveries; should exceed the time for which the sender retries",
  },
  silence: {
    type: "string",
    value: "duration",
    text: "exit with 1 if the newest delivery is older than this (default: any age is fine)",
  },
  type: {
    type: "string",
    multiple: true,
    value: "type",
    text: "judge only events of this type, if the receiver has no handler for others; may be repeated",
  },
  redeliver: { type: "boolean", text: "request another attempt for each missing delivery" },
  "max-redeliver": {
    type: "string",
    value: "number",
    text: "maximum number of deliveries to request again (default: 1000)",
  },
  ...serviceOptions,
} as const;

export const reconcile = command({
  usage: "[--endpoint <id>] [--since <duration>] [--redeliver]",
  details: [
    "Compares the deliveries that the service lists with the records of your receiver, and prints how many were handled, and which ones were not. Missing deliveries can be requested again; lost ones cannot.",
    "Exits with 1 if a delivery is missing or lost, if the endpoint is archived, or if the newest delivery is older than --silence. With --json, prints the counts, the ids and { problems }.",
  ],
  examples: [
    "svc-webhooks reconcile --endpoint we_… --since 6d",
    "svc-webhooks reconcile --endpoint we_… --redeliver --silence 1d --json",
  ],
  options,
  async run(context) {
    const { options: values, show, note, signal } = context;
    assertNamed(values);
    const sinceMs = durationOf("--since", values.since, longestMs);
    const retainMs = durationOf("--retain", values.retain, longestMs);
    const graceMs = durationOf("--grace", values.grace);
    const { silence: text } = values;
    const silence =
      text === undefined ? undefined : { text, ms: durationOf("--silence", text, longestMs) };
    const maxRedeliver = maxOf(values.redeliver, values["max-redeliver"]);
    const comparedMs = comparedOf(sinceMs, retainMs, values);
    if (graceMs >= comparedMs) {
      throw new UsageError(
        `--grace ${values.grace} is not shorter than the compared period, so no delivery would be judged.`,
        "Raise --since, or shorten --grace.",
      );
    }

    const records = await loadRecords(values.receiver, signal);
    const readJobs = values.admin === undefined ? undefined : await loadJobs(values.admin, signal);
    if (comparedMs < sinceMs && !context.json) {
      const shown = `${Math.round((sinceMs - comparedMs) / 60_000)} min`;
      note(
        `Deliveries from the first ${shown} of --since are not compared: their records may expire during the comparison. To compare them, set a longer retainMs, and pass it as --retain.`,
      );
    }
    return withService(context, async (client) => {
      const endpoint = await comparedEndpoint(client, values.endpoint, signal);
      const { webhook_endpoint_id } = endpoint;
      const now = Date.now();
      const since = new Date(now - comparedMs);
      const progress = createProgress(context);
      const walked = await walk({
        client,
        records,
        readJobs,
        webhook_endpoint_id,
        since,
        untilMs: Number(since) + retainMs,
        graceMs,
        types: values.type,
        maxRedeliver,
        progress,
        signal,
      }).finally(() => progress.clear());
      const sinceRequested = new Date(now - sinceMs);
      const redelivers = values.redeliver;
      const comparison = { ...walked, endpoint, since, sinceRequested, silence, redelivers };
      show(jsonOf(comparison), linesOf(comparison, context.stdout));
      if (walked.error !== undefined) throw walked.error;
      return problemsOf(comparison).length > 0 ? 1 : 0;
    });
  },
});

/** Refuses an empty id, which a service may read as all endpoints, and a type that is empty or a pattern. */
function assertNamed(values: {
  readonly endpoint: string | undefined;
  readonly type: readonly string[];
}) {
  if (values.endpoint === "") {
    const fix =
      "Pass the endpoint's id, as --endpoint we_…. If it comes from a variable, set the variable.";
    throw new UsageError("--endpoint is empty.", fix);
  }
  const wrong = values.type.find((type) => type === "" || type.includes("*"));
  if (wrong !== undefined) {
    throw new UsageError(
      `--type is ${wrong || "empty"}, which is not an event type, so no delivery would be judged.`,
      "Pass each type that your receiver handles: --type email.sent --type email.delivered.",
    );
  }
}

/** Returns the maximum number of deliveries to request again, or undefined if the command only reports. */
function maxOf(redeliver: boolean, max: string | undefined): number | undefined {
  if (max !== undefined && !redeliver) {
    throw new UsageError("--max-redeliver has no effect without --redeliver.", "Add --redeliver.");
  }
  if (!redeliver) return undefined;
  return max === undefined ? 1_000 : wholeNumber("--max-redeliver", max, 1, 1e9);
}

/**
 * Returns the age of the oldest deliveries to compare, in milliseconds: `sinceMs`, or less if their records could
 * expire during the comparison.
 */
function comparedOf(
  sinceMs: number,
  retainMs: number,
  { since, retain }: { readonly since: string; readonly retain: string },
): number {
  if (sinceMs > retainMs) {
    throw new UsageError(
      `--since ${since} is longer than records are kept (--retain ${retain}), so older deliveries would be reported as lost.`,
      "Shorten --since, or pass the retainMs of your receiver as --retain.",
    );
  }
  return Math.min(sinceMs, retainMs - Math.min(longestWalkMs, retainMs / 10));
}
