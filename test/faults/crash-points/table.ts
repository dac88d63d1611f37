import { inboxPoints, inboxResultAt } from "./inbox/points.js";
import { points } from "./server.js";
import { faults, type Story, type Verdict } from "./stories.js";
import { resultAt, transactionPoints } from "./transaction/points.js";

const verdicts: Readonly<Record<Verdict, string>> = {
  clean: "clean",
  "clean until redelivered": "clean ¹",
  doubled: "**doubled**",
  lost: "**LOST**",
};

const row = (...cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;

const rule = (cells: number) => row(...Array<string>(cells).fill("---"));

/** Summarizes responses as text such as `12 × 503 store_unavailable, 200 processed`. */
function summaryOf(responses: readonly string[]): string {
  const groups: { response: string; count: number }[] = [];
  for (const response of responses) {
    const last = groups.at(-1);
    if (last?.response === response) last.count += 1;
    else groups.push({ response, count: 1 });
  }
  return groups
    .map(({ response, count }) => (count === 1 ? response : `${count} × ${response}`))
    .join(", ");
}

/** Returns whether an older run wrote the last effect. */
export const endsLate = ({ effects }: Story): boolean =>
  effects.some(({ fence }) => fence > (effects.at(-1)?.fence ?? 0));

function effectsOf(story: Story): string {
  const { length } = story.effects;
  if (length < 2) return String(length);
  return `${length}, the last one with a ${endsLate(story) ? "lower" : "higher"} fence`;
}

/**
 * Returns the section with the results of the PostgreSQL tests. Those tests do not write it, because they do not run
 * without a server.
 */
const transactionSection = (): readonly string[] => {
  const heading = [
    "where the fault strikes",
    "dies, outside",
    "dies, inside",
    "freezes, outside",
    "freezes, inside",
    "response to the next attempt, inside",
  ];
  return [
    "## Effects in the store's database",
    "",
    "The table shows the number of effects in PostgreSQL, written outside or inside `store.transaction`, when the process dies (SIGKILL), or freezes (SIGSTOP) until another process has responded with 200. A dash marks steps that exist only inside the transaction. `npx vitest run --config test/faults/vitest.config.ts test/faults/crash-points/transaction` checks each number with real processes.",
    "",
    row(...heading),
    rule(heading.length),
    ...transactionPoints.map((point) => {
      const outside = resultAt(point, "outside");
      const inside = resultAt(point, "inside");
      const cells = [outside?.dies, inside?.dies, outside?.freezes, inside?.freezes];
      const shown = cells.map((effects) => (effects === 2 ? "**2**" : (effects ?? "–")));
      return row(point, ...shown, `200 ${inside?.next ?? ""}`);
    }),
    "",
  ];
};

/** Returns the section with the results of the tests with queues, which do not write it for the same reason. */
const inboxSection = (): readonly string[] => {
  const heading = [
    "where the process dies",
    "responses to the sender",
    "the next worker's run",
    "effects, outside",
    "effects, inside",
  ];
  return [
    "## Effects of handlers that run from a queue",
    "",
    "The table shows the number of effects in PostgreSQL, written outside or inside `store.transaction`, when a process that stores deliveries in an [inbox](inbox.md), or runs their handlers, dies (SIGKILL). The results with BullMQ on Redis and with pg-boss are the same. A dash marks a step that exists only inside the transaction, or that there is no further run. `npx vitest run --config test/faults/vitest.config.ts test/faults/crash-points/inbox` checks each number with real processes, and `npx vitest run --config test/contracts/vitest.config.ts test/pg-boss` does the same with pg-boss.",
    "",
    row(...heading),
    rule(heading.length),
    ...inboxPoints.map((point) => {
      const { sender, next, outside, inside } = inboxResultAt(point);
      const effects = outside === 2 ? "**2**" : (outside ?? "–");
      return row(point, sender.join(", "), next.join(", ") || "–", effects, inside);
    }),
    "",
  ];
};

/** Returns the document that lists the result of each fault at each point, as a summary table and in full. */
export function tableOf(stories: readonly Story[]): string {
  const verdictAt = (point: string, fault: string) => {
    const story = stories.find((one) => one.point === point && one.fault === fault);
    return story ? verdicts[story.verdict] : "";
  };
  const names = faults.map(({ name }) => name);
  const full = [
    "where",
    "fault",
    "effects",
    "responses to the sender",
    "response to a later redelivery",
  ];
  return [
    "# The result of each fault at each point",
    "",
    "`npx vitest run test/faults/crash-points -u` writes this page, and [guarantees.md](guarantees.md) explains it. A lease lasts 30 s, and `maxRunMs` is 15 minutes. The sender waits up to 15 s for a response, and retries 5 s later until it gets a 2xx. In a cell marked clean, the effect was applied once; in a cell marked doubled, it was applied more than once.",
    "",
    row("where the fault strikes", ...names),
    rule(names.length + 1),
    ...points.map((point) => row(point, ...names.map((name) => verdictAt(point, name)))),
    "",
    "¹ The event was acknowledged, and its effect was applied once. The store was unavailable until the retries of `complete` were exhausted, so the record was never completed: if another copy arrives, the handler runs again.",
    "",
    ...transactionSection(),
    ...inboxSection(),
    "## In full",
    "",
    row(...full),
    rule(full.length),
    ...stories.map((story) =>
      row(story.point, story.fault, effectsOf(story), summaryOf(story.seen), story.redelivery),
    ),
    "",
  ].join("\n");
}
