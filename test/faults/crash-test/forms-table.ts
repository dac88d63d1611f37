import { isFull } from "@svc-webhooks/kit/sized";
import type { Planted } from "../../crash-tests/handlers.js";

/** The findings of a handler in one form, with the cells of each. */
export type Findings = ReadonlyMap<string, readonly string[]>;

export interface Result {
  readonly planted: Planted;
  /** Undefined if the form cannot run the handler. */
  readonly a: Findings | undefined;
  readonly b: Findings;
  /**
   * Whether form B has tried each cell, and found each finding again. It runs in real time: on a busy machine, a history
   * may end before its fault.
   */
  readonly isSteady: boolean;
}

interface Difference {
  readonly reason: string;
  /** The cells of form B that depend on timing: any number in this range. */
  readonly range?: readonly [least: number, most: number];
  /** Whether form A cannot have this finding. */
  readonly isOnlyInB?: true;
}

/** The reasons for differences, by handler and finding. */
const differences: Readonly<Record<string, Difference>> = {
  "slow, ignores context.signal: duplicate report": {
    range: [1, 3],
    reason:
      "In form A, the handler takes 12 s, so its lease is extended, which is one more call. In form B, it takes 1 s, and the retry may arrive before its call.",
  },
  "Promise.all of charge with key and mail: duplicate mail": {
    range: [3, 9],
    reason:
      "The calls run at the same time. Form A executes them in the order in which they were made. In form B, either may be executed first, and the other one may be on its way when the fault strikes.",
  },
  "forgotten await: partial mail": {
    range: [1, 5],
    reason:
      "The call and the transaction run at the same time. Form A sends the call first. In form B, their order depends on the machine.",
  },
  "queue in memory, responds first: lost mail": {
    range: [1, 4],
    reason:
      "The call is sent 50 ms after the handler has ended. On a slow machine in form B, it may be on its way when the fault strikes.",
  },
  "set of ids in a variable of the module: duplicate charge": {
    isOnlyInB: true,
    reason:
      "A variable of a module survives a simulated crash. Form A reports the error `no_effect`, because its second history finds the id of the first, and does nothing. In form B, SIGKILL ends the process, so its variables are lost.",
  },
};

interface Line {
  readonly planted: Planted;
  readonly finding: string;
  readonly a: readonly string[] | undefined;
  readonly b: readonly string[] | undefined;
  readonly difference: Difference | undefined;
  readonly isSteady: boolean;
}

const keyOf = (planted: Planted, finding: string) => `${planted.name}: ${finding}`;

/** Returns one line for each finding of a handler in either form. */
const linesOf = ({ planted, a, b, isSteady }: Result): readonly Line[] =>
  [...new Set([...(a?.keys() ?? []), ...b.keys()])].map((finding) => ({
    planted,
    finding,
    a: a?.get(finding),
    b: b.get(finding),
    difference: differences[keyOf(planted, finding)],
    isSteady,
  }));

/** Returns what contradicts the rules, one sentence each. */
export function problemsIn(results: readonly Result[]): readonly string[] {
  const lines = results.flatMap(linesOf);
  const hasRun = (key: string) => results.some(({ planted }) => key.startsWith(keyOf(planted, "")));
  const known = new Set(lines.map(({ planted, finding }) => keyOf(planted, finding)));
  return [
    ...results.flatMap(missingIn),
    ...lines.flatMap(problemsOf),
    ...Object.keys(differences)
      .filter((key) => !known.has(key) && (isFull || hasRun(key)))
      .map((key) => `${key} has a reason, but does not occur.`),
  ];
}

function missingIn({ planted, a, b }: Result): readonly string[] {
  const { name, finding, faults = 1 } = planted;
  if (finding === undefined || faults > 1) {
    const found = [...(a?.keys() ?? []), ...b.keys()];
    return found.map((one) => `${name} must not have the finding ${one}.`);
  }
  return [
    ...(a && !a.has(finding) ? [`${name} has no ${finding} in form A.`] : []),
    ...(b.has(finding) ? [] : [`${name} has no ${finding} in form B.`]),
  ];
}

function problemsOf({ planted, finding, a, b, difference, isSteady }: Line): readonly string[] {
  const key = keyOf(planted, finding);
  if (!a && !difference?.isOnlyInB) return [`${key} is only in form B.`];
  if (!isSteady) return [];
  if (difference?.range) {
    const [least, most] = difference.range;
    const count = b?.length ?? 0;
    const isInside = count >= least && count <= most;
    return isInside ? [] : [`${key} has ${count} cells in form B: ${b?.join(" ")}.`];
  }
  const areEqual = a?.toSorted().join() === b?.toSorted().join();
  if (areEqual && difference) return [`${key} has a reason, but its cells are equal.`];
  if (areEqual || difference) return [];
  const shown = `${a?.join(" ") ?? "none"} in form A, ${b?.join(" ") ?? "none"} in form B`;
  return [`${key} has other cells without a reason: ${shown}.`];
}

const row = (...cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;

function rowsOf(result: Result): readonly string[] {
  const { planted, a } = result;
  const lines = linesOf(result);
  if (lines.length === 0) {
    const reason = planted.finding === undefined ? "" : `\`${planted.finding}\` needs two faults.`;
    return [row(planted.name, "none", 0, 0, reason)];
  }
  return lines.map(({ finding, a: inA, b: inB, difference }) =>
    row(
      planted.name,
      `\`${finding}\``,
      a ? (inA?.length ?? 0) : "error",
      difference?.range ? difference.range.join(" to ") : (inB?.length ?? 0),
      difference?.reason ?? "",
    ),
  );
}

/** Returns the document that compares the two forms of the crash test. */
export function tableOf(results: readonly Result[]): string {
  const table = (rows: readonly Result[]) => [
    row("handler", "finding", "cells in A", "cells in B", "reason for the difference"),
    row("---", "---", "---:", "---:", "---"),
    ...rows.flatMap(rowsOf),
  ];
  return [
    "# The two forms of the crash test, compared",
    "",
    "A crash test runs in two forms. Form A, `crashTest()`, runs a receiver in the process of a test, with virtual time and a database in memory. Form B, the command `svc-webhooks crash-test`, runs a whole server with a real PostgreSQL database, kills the server's processes with SIGKILL and breaks its connections. This page lists handlers with one planted mistake each, and handlers without a mistake, with the findings of both forms. `SVC_SUITE=full npx vitest run --config test/faults/vitest.config.ts test/faults/crash-test/both-forms.long.ts -u` writes it, and fails if the forms differ and the table has no reason for the difference.",
    "",
    "A *cell* is one fault at one point: a crash, a call that fails, a lost response or a response with 503, before or after a call to the outside world is executed. The numbers state in how many cells the fault leads to the finding. If no reason is given, both forms have the finding in exactly the same cells.",
    "",
    "## Handlers with a mistake",
    "",
    ...table(results.filter(({ planted }) => planted.finding !== undefined)),
    "",
    "## Handlers without a mistake",
    "",
    ...table(results.filter(({ planted }) => planted.finding === undefined)),
    "",
  ].join("\n");
}
