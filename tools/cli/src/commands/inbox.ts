import type { InboxAdmin, InboxEntry } from "@svc-webhooks/core/inbox";
import { command } from "../command.js";
import { Failure } from "../errors.js";
import { durationOf } from "../lib/duration.js";
import { adminOptions, withAdmin, withInbox, withPatientAdmin } from "../lib/inbox-admin.js";
import { wholeNumber } from "../lib/number.js";
import { fields, table } from "../lib/terminal/table.js";
import { shortTime } from "../lib/terminal/time.js";
import { paint } from "../paint.js";

const typeOption = {
  type: "string",
  value: "type",
  text: "only jobs of this event type",
} as const;

export const inboxCheck = command({
  usage: "",
  details: [
    "Prints the conditions that can lose or delay events, such as a setting of the queue, of its server or of your process. Run it when you deploy. The default export of --admin must be the inbox. Exits with 1 if there is such a condition. With --json, prints { problems }.",
  ],
  examples: ["svc-webhooks inbox check"],
  options: adminOptions,
  run: (context) =>
    withInbox(context, async (inbox) => {
      const problems = await inbox.check();
      assertTexts(problems);
      const lines = problems.map((problem) => `- ${problem}`);
      context.show(
        { problems },
        lines.length > 0 ? lines : [[paint("green", "No problem found.")]],
      );
      return problems.length > 0 ? 1 : 0;
    }),
});

/** Throws a Failure unless the problems are a list of strings, because any other value could look like success. */
function assertTexts(problems: unknown): asserts problems is readonly string[] {
  if (Array.isArray(problems) && problems.every((problem) => typeof problem === "string")) return;
  throw new Failure(
    "inbox_failed",
    "`check` of --admin did not return a list of texts.",
    "Export an inbox of svc-webhooks/sqlite, svc-webhooks/pg-boss or svc-webhooks/bullmq.",
  );
}

export const inboxStats = command({
  usage: "[--max-age <duration>]",
  details: [
    "Prints the number of jobs in each state, and the age of the oldest job that is ready to run. Exits with 1 if there is a dead letter, if a dead letter holds back later events of its key (held_keys), or if that oldest job is older than --max-age. With --json, prints { ready, delayed, active, dead, oldest_ms, held_keys }.",
  ],
  examples: ["svc-webhooks inbox stats --max-age 5m"],
  options: {
    "max-age": {
      type: "string",
      default: "15m",
      value: "duration",
      text: "exit with 1 if the oldest job that is ready to run is older than this",
    },
    ...adminOptions,
  },
  run(context) {
    const maxAgeMs = durationOf("--max-age", context.options["max-age"]);
    return withAdmin(context, async (admin) => {
      const { ready, delayed, active, dead, oldestMs, heldKeys } = await admin.stats();
      const counts = { ready, delayed, active, dead };
      assertNumbers(counts);
      context.show({ ...counts, oldest_ms: oldestMs ?? null, held_keys: heldKeys ?? null }, [
        ...fields({
          ...counts,
          oldest: oldestMs === undefined ? "" : `${Math.round(oldestMs / 1000)} s`,
          held_keys: heldKeys,
        }),
      ]);
      return counts.dead > 0 || Number(heldKeys) > 0 || Number(oldestMs) > maxAgeMs ? 1 : 0;
    });
  },
});

/** Throws a Failure unless all counts are whole numbers. A monitor could read any other value as an empty queue. */
function assertNumbers(counts: Readonly<Record<string, unknown>>): void {
  const wrong = Object.entries(counts).find(([, value]) => !Number.isInteger(value));
  if (!wrong) return;
  throw new Failure(
    "inbox_failed",
    `\`stats\` of --admin did not return the number of ${wrong[0]} jobs.`,
    "Export the `admin` of an inbox.",
  );
}

export const inboxList = command({
  usage: "[--state <state>] [--type <type>] [--limit <number>] [--after <id>]",
  details: [
    "Prints jobs in one state, in the queue's order, without their bodies. With --json, prints { data }.",
  ],
  examples: ["svc-webhooks inbox list", "svc-webhooks inbox list --state delayed"],
  options: {
    state: {
      type: "string",
      default: "dead",
      value: "state",
      values: ["ready", "delayed", "active", "dead"],
      text: "state of the jobs: ready, delayed, active or dead",
    },
    type: typeOption,
    limit: {
      type: "string",
      default: "20",
      value: "number",
      text: "maximum number of jobs to print",
    },
    after: { type: "string", value: "id", text: "only jobs after the job with this id" },
    ...adminOptions,
  },
  run(context) {
    const { options, show, stdout } = context;
    const limit = wholeNumber("--limit", options.limit, 1, 10_000);
    return withAdmin(context, async (admin) => {
      const { type, after } = options;
      const state = options.state as InboxEntry["state"];
      const data: Shown[] = [];
      for await (const entry of admin.list({ state, type, after, limit })) data.push(shown(entry));
      // Only the jobs of an intake have a source.
      const hasSource = data.some(({ source }) => source !== null);
      const names = columns.filter((name) => name !== "source" || hasSource);
      const rows = data.map((job) =>
        names.map((name) => (name === "received_at" ? shortTime(job[name]) : job[name]) ?? ""),
      );
      show({ data }, rows.length === 0 ? [`No job is ${state}.`] : table(names, rows, stdout));
      return 0;
    });
  },
});

const columns = ["id", "type", "source", "state", "attempts", "received_at", "error"] as const;

/** A job as the commands print it. */
type Shown = ReturnType<typeof shown>;

const shown = (entry: InboxEntry) => {
  const { id, key, type, deliveryId, source, state, receivedAt, attempts, error } = entry;
  return {
    id,
    key,
    type,
    delivery_id: deliveryId,
    source: source ?? null,
    state,
    attempts,
    received_at: isoTime(receivedAt),
    error: error ?? null,
  };
};

/** Returns a time in ISO 8601, or null if it is invalid, as in a job that another application has written. */
function isoTime(ms: number): string | null {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

export const inboxShow = command({
  usage: "<id> [--body]",
  args: ["id"],
  details: [
    "Prints a job. The body may contain personal data, so it is printed only with --body: as text, or with --json in base64 as `body`.",
  ],
  examples: ["svc-webhooks inbox show 8f1c… --body"],
  options: { body: { type: "boolean", text: "print the body too" }, ...adminOptions },
  run: (context) =>
    withAdmin(context, async (admin) => {
      const { args, options, show } = context;
      const entry = await admin.get(args[0] ?? "");
      if (!entry) throw notFound(args[0] ?? "");
      const body = options.body ? Buffer.from(entry.body()) : undefined;
      const value = shown(entry);
      show({ ...value, ...(body && { body: body.toString("base64") }) }, [
        ...fields(value),
        ...(body ? ["", body.toString()] : []),
      ]);
      return 0;
    }),
});

const notFound = (id: string) =>
  new Failure(
    "not_found",
    `No job has the id ${id}.`,
    "To see the dead letters, run svc-webhooks inbox list.",
  );

/** Awaits the change of a job. If the job was not changed, rejects with a Failure that states the reason. */
async function change(admin: InboxAdmin, id: string, isChanged: Promise<boolean>): Promise<void> {
  if (await isChanged) return;
  const entry = await admin.get(id);
  if (!entry) throw notFound(id);
  if (entry.state === "dead") {
    throw new Failure(
      "not_changed",
      `The queue did not change the job ${id}, which is dead.`,
      "It may have run a moment ago, so try again. A dead letter that did not come from the inbox's queue can only be discarded.",
    );
  }
  throw new Failure(
    "not_dead",
    `The job ${id} is ${entry.state}.`,
    "Only dead letters can be discarded. Dead letters, and jobs that wait for their next attempt, can be retried.",
  );
}

export const inboxRetry = command({
  usage: "<id>",
  args: ["id"],
  details: [
    "Runs a dead letter again, with its attempts counted from zero, or immediately runs a job that waits for its next attempt.",
  ],
  examples: ["svc-webhooks inbox retry 8f1c…"],
  options: adminOptions,
  run: (context) =>
    withAdmin(context, async (admin) => {
      const [id = ""] = context.args;
      await change(admin, id, admin.retry(id));
      context.show({ id, retried: true }, [`${id} will run again.`]);
      return 0;
    }),
});

export const inboxDiscard = command({
  usage: "<id> --reason <text>",
  args: ["id"],
  details: [
    "Removes a dead letter. If the sender delivers the event again, it is stored and runs again.",
  ],
  examples: ['svc-webhooks inbox discard 8f1c… --reason "test account"'],
  options: {
    reason: { type: "string", required: true, value: "text", text: "reason, for your audit log" },
    ...adminOptions,
  },
  run: (context) =>
    withAdmin(context, async (admin) => {
      const [id = ""] = context.args;
      await change(admin, id, admin.discard(id, context.options.reason));
      context.show({ id, discarded: true }, [`${id} has been removed.`]);
      return 0;
    }),
});

export const inboxRelease = command({
  usage: "--rate <number> [--stop-after <number>] [--type <type>]",
  details: [
    "Runs dead letters again, oldest first and at a limited rate, for example after a fix has been deployed. Ctrl-C stops the release; the remaining dead letters stay as they are. Exits with 1 if the limit of --stop-after was reached. With --json, prints { released, failed_again }.",
  ],
  examples: ["svc-webhooks inbox release --rate 5 --stop-after 10"],
  options: {
    rate: {
      type: "string",
      required: true,
      value: "number",
      text: "number of dead letters that run again each second",
    },
    "stop-after": {
      type: "string",
      default: "10",
      value: "number",
      text: "stop once this many released jobs have failed again",
    },
    limit: {
      type: "string",
      value: "number",
      text: "maximum number of dead letters to release (default: all)",
    },
    type: typeOption,
    ...adminOptions,
  },
  run(context) {
    const { options, show, signal } = context;
    const { type } = options;
    const perSecond = wholeNumber("--rate", options.rate, 1, 1_000);
    const stopAfter = wholeNumber("--stop-after", options["stop-after"], 1, 1e9);
    const limit =
      options.limit === undefined ? undefined : wholeNumber("--limit", options.limit, 1, 1e9);
    return withPatientAdmin(context, async (admin) => {
      const { released, failedAgain } = await admin.release({
        perSecond,
        stopAfter,
        limit,
        type,
        signal,
      });
      show({ released, failed_again: failedAgain }, [
        `${released} released, ${failedAgain} failed again.`,
      ]);
      return failedAgain >= stopAfter ? 1 : 0;
    });
  },
});
