import type { CrashTestReport, FaultKind, HistoryLine, ReportPage } from "../src/index.js";
import { canHappen, faultKinds } from "../src/faults.js";
import type { Cell } from "../src/report/report.js";
import { textOf } from "../src/report/text.js";

const claims = (ms: number, process: string, note?: string): HistoryLine => ({
  ms,
  who: process,
  text: `claim evt_1${note === undefined ? "" : `, ${note}`}`,
  from: process,
  to: "store",
});

const call = (ms: number, process: string, name: string, more?: Partial<HistoryLine>) => ({
  ms,
  who: process,
  text: `${name}, key none`,
  from: process,
  to: name,
  effects: [name],
  ...more,
});

const inserts = (ms: number, process: string, more?: Partial<HistoryLine>): HistoryLine => ({
  ms,
  who: process,
  text: "insert into orders",
  from: process,
  to: "database",
  effects: ["orders"],
  ...more,
});

const completes = (ms: number, process: string): HistoryLine => ({
  ms,
  who: process,
  text: "complete evt_1",
  from: process,
  to: "store",
});

const responds = (ms: number, process: string, text: string, note?: string): HistoryLine => ({
  ms,
  who: "sender",
  text,
  note,
  from: process,
  to: "sender",
});

const noResponse: HistoryLine = { ms: 15_000, who: "sender", text: "attempt 1: no response" };

const undisturbed: readonly HistoryLine[] = [
  claims(0, "A"),
  call(0, "A", "charge"),
  inserts(0, "A"),
  completes(0, "A"),
  call(0, "A", "mail", { text: "mail, key evt_1" }),
  responds(0, "A", "attempt 1: 200 processed"),
];

const duplicateCharge: readonly HistoryLine[] = [
  claims(0, "A"),
  call(0, "A", "charge", { note: "effect 1" }),
  {
    ms: 0,
    who: "A",
    text: "crash: charge executed, reply not read",
    fault: "crash",
    from: "charge",
    to: "A",
  },
  noResponse,
  { ...claims(30_000, "B", "run 2"), note: "after 2 × 503 in_flight" },
  call(30_000, "B", "charge", { note: "effect 2: duplicate", isExtra: true }),
  inserts(30_000, "B"),
  completes(30_000, "B"),
  call(30_000, "B", "mail", { text: "mail, key evt_1" }),
  responds(30_000, "B", "attempt 4: 200 processed"),
];

const partialMail: readonly HistoryLine[] = [
  claims(0, "A"),
  call(0, "A", "charge"),
  inserts(0, "A"),
  completes(0, "A"),
  { ms: 500, who: "A", text: "crash: mail not sent yet", fault: "crash", from: "A", to: "mail" },
  noResponse,
  { ...claims(20_000, "B", "done"), note: undefined },
  responds(20_000, "B", "attempt 2: 200 duplicate"),
];

const unavailableCharge: readonly HistoryLine[] = [
  claims(0, "A"),
  {
    ms: 0,
    who: "A",
    text: "status: charge responds 503, not executed",
    fault: "status",
    from: "charge",
    to: "A",
  },
  responds(0, "A", "attempt 1: 500 handler_failed"),
  ...undisturbed.map((line) => ({ ...line, ms: 5_000 })),
];

const points = ["claim", "charge", "insert into orders", "complete", "mail"];
const crossings = [
  { kind: "store" },
  { kind: "call", isRequest: true },
  { kind: "statement" },
  { kind: "store" },
  { kind: "call" },
] as const;

/** Returns a cell for each fault that can happen at each point. */
const cellsOf = (findingsOf: (kind: FaultKind, point: number) => readonly string[]): Cell[] =>
  points.flatMap((_name, at) =>
    [at * 2 + 1, at * 2 + 2].flatMap((point) =>
      faultKinds
        .filter((kind) => canHappen(kind, point % 2 === 0, crossings[at] ?? { kind: "call" }))
        .map((kind): Cell => {
          const findings = findingsOf(kind, point);
          const isReached = !(kind === "freeze" && point >= 9);
          const lines = findings.includes("duplicate charge")
            ? duplicateCharge
            : findings.includes("partial mail")
              ? partialMail
              : kind === "status"
                ? unavailableCharge
                : undisturbed;
          return { kind, point, findings: isReached ? findings : [], isReached, lines };
        }),
    ),
  );

const findingsAt = (kind: FaultKind, point: number): readonly string[] => {
  if (kind === "slow" || kind === "outage") return [];
  if (kind === "crash" && point === 9) return ["partial mail"];
  if (kind === "fail" && point === 5) return ["duplicate charge", "duplicate slack"];
  if (kind === "duplicate" && point === 1) return ["duplicate slack"];
  return point >= 4 && point <= 7 ? ["duplicate charge"] : [];
};

const cells = cellsOf(findingsAt);

const places = (name: string): readonly string[] =>
  cells
    .filter(({ findings }) => findings.includes(name))
    .map(({ kind, point }) => `${kind}@${point}`);

const report = (facts: Partial<CrashTestReport>): CrashTestReport => {
  const all: Omit<CrashTestReport, "text"> = {
    version: 1,
    events: ["email.delivered"],
    findings: [],
    accepted: [],
    tried: [{ faults: 1, run: cells.length, of: cells.length }],
    points: points.length * 2,
    notReached: [],
    unsteady: [],
    unseen: [],
    unused: [],
    notCompared: [],
    blind: ["Files, workers, native modules and clients that were not wrapped."],
    keyed: ["mail"],
    seed: 1,
    ...facts,
  };
  return { ...all, text: textOf(all, 2) };
};

/** A page with two findings, an accepted one, and points that were not reached. */
export const withFindings: ReportPage = {
  report: report({
    findings: [
      {
        kind: "duplicate",
        effect: "charge",
        source: "src/orders.ts:23",
        repeat: "crash@4",
        history: duplicateCharge,
        advice:
          'Pass `context.idempotencyKey` to `charge`. If its API honors no key, use an outbox: store the call as a job in the transaction that completes the event (recipe "Effects after the commit").',
        cells: places("duplicate charge"),
      },
      {
        kind: "partial",
        effect: "mail",
        source: "src/orders.ts:31",
        repeat: "crash@9",
        history: partialMail,
        advice:
          "The commit completes the event, so no later run reaches `mail`. Use an outbox, or make the call before the transaction, with an idempotency key.",
        cells: places("partial mail"),
      },
    ],
    accepted: [
      {
        kind: "duplicate",
        effect: "slack",
        repeat: "duplicate@1",
        history: undisturbed,
        advice: "",
        cells: places("duplicate slack"),
      },
    ],
    notReached: ["freeze@9", "freeze@10"],
    unseen: ["a socket to 127.0.0.1:5432"],
  }),
  undisturbed,
  points,
  cells,
};

/** A page without a finding. */
export const withoutFinding: ReportPage = {
  report: report({
    tried: [
      { faults: 1, run: 46, of: 46 },
      { faults: 2, run: 500, of: 1920 },
    ],
  }),
  undisturbed,
  points,
  cells: cellsOf(() => []).map((cell) => ({ ...cell, isReached: true })),
};

/** Text that would run, hide, or turn its surroundings if it were not escaped. */
export const hostile = `"><script>alert(1)</script><img src=x onerror='alert(1)'>\u202E\u0000\u001B[31m&lt;\uD800`;

/** A page whose every text is hostile. */
export const withHostileTexts: ReportPage = {
  report: report({
    events: [hostile, hostile],
    findings: [
      {
        kind: "duplicate",
        effect: hostile,
        source: hostile,
        repeat: hostile,
        history: duplicateCharge.map((line) => ({
          ...line,
          who: line.who === "sender" ? "sender" : `${line.who}${hostile}`,
          text: hostile,
          note: hostile,
          to: hostile,
          effects: [hostile],
        })),
        advice: `Pass \`${hostile}\` to ${hostile}`,
        cells: [hostile],
      },
    ],
    accepted: [duplicateOf(hostile)],
    notReached: [hostile],
    unsteady: [hostile],
    unseen: [hostile],
    blind: [hostile],
    keyed: [hostile],
  }),
  undisturbed: undisturbed.map((line) => ({ ...line, text: hostile, to: hostile })),
  points: points.map(() => hostile),
  cells: cells.map((cell) => ({
    ...cell,
    findings: [hostile],
    lines: [{ ms: 0, who: hostile, text: hostile, note: hostile }],
  })),
};

function duplicateOf(effect: string): CrashTestReport["accepted"][number] {
  return { kind: "duplicate", effect, repeat: "crash@1", history: [], advice: "", cells: [] };
}
