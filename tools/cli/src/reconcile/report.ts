import { pageLink } from "@svc-webhooks/core/outcomes";
import { table } from "../lib/terminal/table.js";
import { shortTime } from "../lib/terminal/time.js";
import { paint, type Line, type Output } from "../paint.js";
import type { Compared } from "./endpoint.js";
import type { Walked } from "./walk.js";

export interface Comparison extends Walked {
  readonly endpoint: Compared;
  readonly since: Date;
  /** The time that `--since` requests. `since` may be later. */
  readonly sinceRequested: Date;
  /**
   * The value of `--silence`, in milliseconds and as text. There is silence if the newest delivery is older. Undefined:
   * any age is fine.
   */
  readonly silence: { readonly ms: number; readonly text: string } | undefined;
  readonly redelivers: boolean;
}

/** A reason to exit with 1. */
export type Problem = "missing" | "lost" | "silence";

const isArchived = ({ endpoint }: Comparison) => endpoint.status === "archived";

/** Returns the problems that a comparison found, always in the same order. */
export function problemsOf(comparison: Comparison): readonly Problem[] {
  const { report, silence, isComplete } = comparison;
  const { newestSentAt } = report;
  // If the list ended with an error before the first delivery, it is unknown whether there was silence.
  const isKnown = newestSentAt !== undefined || isComplete;
  const ageMs = Date.now() - Number(newestSentAt ?? 0);
  const isSilent =
    isArchived(comparison) || (isKnown && silence !== undefined && ageMs > silence.ms);
  return [
    ...(report.missingCount > 0 ? (["missing"] as const) : []),
    ...(report.lostCount > 0 ? (["lost"] as const) : []),
    ...(isSilent ? (["silence"] as const) : []),
  ];
}

const iso = (time: Date | undefined) => time?.toISOString() ?? null;

/** Returns the report as the command's JSON. */
export function jsonOf(comparison: Comparison): object {
  const { endpoint, since, sinceRequested, report, isComplete } = comparison;
  const { sent, done, running, failed, parked, queued, unknown, young } = report;
  return {
    endpoint,
    since: iso(since),
    since_requested: iso(sinceRequested),
    complete: isComplete,
    reached_since: report.reachedSince,
    sent,
    done,
    running,
    failed,
    parked,
    queued,
    missing_count: report.missingCount,
    lost_count: report.lostCount,
    unknown,
    young,
    missing: report.missing,
    lost: report.lost,
    oldest_missing_at: iso(report.oldestMissingAt),
    newest_sent_at: iso(report.newestSentAt),
    oldest_sent_at: iso(report.oldestSentAt),
    redelivered: report.redelivered,
    skipped: report.skipped,
    refused: report.refused,
    problems: problemsOf(comparison),
  };
}

/** Returns the fields, each with its count, its meaning, and the next step that is printed if the count is not 0. */
const rowsOf = (comparison: Comparison): readonly (readonly [string, number, string, string])[] => {
  const { report } = comparison;
  return [
    ["done", report.done, "handled", ""],
    ["running", report.running, "a handler is running", ""],
    [
      "failed",
      report.failed,
      "arrived, but no run has succeeded",
      "find handler_failed in the log",
    ],
    ["parked", report.parked, "given to onParked", "fix the cause, then resume them"],
    ["queued", report.queued, "waiting or dead in the queue", "svc-webhooks inbox stats"],
    [
      "missing",
      report.missingCount,
      "not acknowledged, and without a record",
      repairOf(comparison),
    ],
    [
      "lost",
      report.lostCount,
      "acknowledged, but neither handled nor in a queue",
      "find what lost the data",
    ],
    [
      "unknown",
      report.unknown,
      "another status or type",
      "without --type: call reconcile() with a map",
    ],
    ["young", report.young, "younger than --grace", ""],
  ];
};

/** Returns the next step for missing deliveries. */
function repairOf(comparison: Comparison): string {
  if (isArchived(comparison)) return "none: the endpoint is archived";
  return comparison.redelivers ? "run this command again to check" : "add --redeliver";
}

/** The maximum number of ids that are printed for a field. */
const mostIds = 10;

function idLines(name: string, ids: readonly string[], count: number): readonly Line[] {
  if (ids.length === 0) return [];
  const shown = ids.slice(0, mostIds);
  const rest = count - shown.length;
  const more = rest > 0 ? [`  and ${rest} more; --json prints up to 10,000`] : [];
  return ["", `The newest ${name} deliveries:`, ...shown.map((id) => `  ${id}`), ...more];
}

const timeText = (time: Date) => String(shortTime(time.toISOString()));

/** Returns the report as text. */
export function linesOf(comparison: Comparison, output: Output): readonly Line[] {
  const { endpoint, since, report } = comparison;
  const { sent, newestSentAt, oldestMissingAt } = report;
  const rows = rowsOf(comparison).map(([name, count, meaning, next]) => [
    name,
    count,
    meaning,
    count > 0 ? next : "",
  ]);
  const until = newestSentAt ? `, the newest at ${timeText(newestSentAt)}` : "";
  const oldest = oldestMissingAt
    ? [`The oldest missing delivery was created at ${timeText(oldestMissingAt)}.`]
    : [];
  return [
    `Deliveries to ${endpoint.webhook_endpoint_id} since ${timeText(since)}: ${sent}${until}`,
    "",
    ...table(["field", "count", "meaning", "next step"], rows, output, {
      first: ["field", "count", "next step"],
      colors: report.missingCount > 0 || report.lostCount > 0 ? colors : {},
    }),
    ...idLines("missing", report.missing, report.missingCount),
    ...idLines("lost", report.lost, report.lostCount),
    ...[
      ...oldest,
      ...requestLines(comparison),
      ...listLines(comparison),
      ...pageLines(comparison),
    ].flatMap((line) => ["", line]),
  ];
}

const colors = { missing: "red", lost: "red" } as const;

/**
 * Returns a line with the link to the documentation if there are lost or unknown deliveries, which need more
 * explanation.
 */
const pageLines = ({ report }: Comparison): readonly Line[] =>
  report.lostCount > 0 || report.unknown > 0
    ? [`${pageLink("docs/reconcile", "what-it-reports")} explains each field.`]
    : [];

function requestLines({ report, redelivers, unusable, messages }: Comparison): readonly Line[] {
  const { redelivered, skipped, refused, missingCount } = report;
  if (!redelivers || missingCount === 0) return [];
  const results = [
    `Redelivered: ${redelivered} of ${missingCount} missing deliveries.`,
    skipped > 0 &&
      `Skipped by the service: ${skipped}. Its first reason: ${messages.skipped ?? ""}`,
    refused > unusable &&
      `Refused by the service: ${refused - unusable}. Its first reason: ${messages.refused ?? ""}`,
    unusable > 0 && `Not requested, because they have no usable event_id: ${unusable}.`,
  ];
  return [results.filter((text) => text !== false).join(" ")];
}

function listLines(comparison: Comparison): readonly Line[] {
  const { report, endpoint, silence, isComplete } = comparison;
  const { sent, unknown, young, newestSentAt, oldestSentAt, reachedSince } = report;
  const lines: Line[] = [];
  if (sent > 0 && sent === unknown + young) lines.push("Nothing was compared.");
  if (isArchived(comparison)) {
    const id = endpoint.webhook_endpoint_id;
    lines.push([
      paint("red", `The endpoint ${id} is archived, so the service sends nothing to it.`),
      " Register a new one with svc-webhooks service endpoints create, and give its secret to the receiver.",
    ]);
  } else if (problemsOf(comparison).includes("silence")) {
    lines.push([
      paint("red", `Silence: no delivery was created in the last ${silence?.text ?? ""}.`),
      " Check that the endpoint is active and subscribed to the types that you expect.",
    ]);
  }
  if (!isComplete) {
    lines.push([paint("red", "Incomplete:"), " the older deliveries were not compared."]);
  } else if (!newestSentAt) {
    lines.push(
      "The service lists no deliveries of this endpoint. If it has any, check --endpoint.",
    );
  } else if (!reachedSince && oldestSentAt) {
    lines.push(
      `The list ended before --since: the service has no older deliveries, or no longer lists them. The comparison covers only the time from ${timeText(oldestSentAt)}.`,
    );
  }
  return lines;
}
