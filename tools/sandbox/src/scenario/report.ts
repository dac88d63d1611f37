/** An expectation and its result. */
export interface ScenarioResult {
  /** The step's number, from 1. */
  readonly step: number;
  /** The expectation, with references in place of ids, such as `POST /v1/emails responds with 202`. */
  readonly expected: string;
  readonly met: boolean;
  /** The observed values. Absent if the expectation is met. */
  readonly found?: string;
}

/**
 * The report of a scenario. It contains no times of day, ports, URLs or ids, so that two runs with the same behavior
 * have the same report.
 */
export interface ScenarioReport {
  readonly scenario: string;
  /** Whether all expectations were met. */
  readonly met: boolean;
  /** The number of steps in the file. `ran` is the number of steps that ran. */
  readonly steps: number;
  readonly ran: number;
  readonly results: readonly ScenarioResult[];
}

/** Replaces control and invisible characters and line separators, because a terminal would interpret some of them. */
const visible = (text: string) => text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\uFFFD");

/** Formats a report as lines of text. */
export function reportText({ scenario, met, steps, ran, results }: ScenarioReport): string {
  const failed = results.filter((result) => !result.met).length;
  const lines = results.flatMap((result) => [
    `${result.met ? "met    " : "NOT MET"} step ${result.step}: ${result.expected}`,
    ...(result.found === undefined ? [] : [`        found: ${result.found}`]),
  ]);
  const ended =
    ran < steps
      ? [`The scenario ended after step ${ran} of ${steps}, because later steps depend on it.`]
      : [];
  const summary = met
    ? `${scenario}: all expectations were met (${results.length}).`
    : `${scenario}: ${failed} of ${results.length} expectations were not met.`;
  return [...lines, ...ended, summary].map((line) => `${visible(line)}\n`).join("");
}
