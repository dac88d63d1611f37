import { points } from "./crash-points-server.js";
import { faults, type Story, type Verdict } from "./crash-points.js";

const verdicts: Readonly<Record<Verdict, string>> = {
  clean: "clean",
  "clean until redelivered": "clean ¹",
  doubled: "**doubled**",
  lost: "**LOST**",
};

const row = (...cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;

const rule = (cells: number) => row(...Array<string>(cells).fill("---"));

/** `12 × 503 store_unavailable, 200 processed` */
function inShort(answers: readonly string[]): string {
  const groups: { answer: string; count: number }[] = [];
  for (const answer of answers) {
    const last = groups.at(-1);
    if (last?.answer === answer) last.count += 1;
    else groups.push({ answer, count: 1 });
  }
  return groups
    .map(({ answer, count }) => (count === 1 ? answer : `${count} × ${answer}`))
    .join(", ");
}

function effectsOf({ effects: [first, second, ...more] }: Story): string {
  if (!first || !second) return first ? "1" : "0";
  const fence = second.fence < first.fence ? "lower" : "higher";
  return `${2 + more.length}, the later one with the ${fence} fence`;
}

/** What became of a delivery, fault by point, in short and in full. */
export function tableOf(stories: readonly Story[]): string {
  const verdictAt = (point: string, fault: string) => {
    const story = stories.find((one) => one.point === point && one.fault === fault);
    return story ? verdicts[story.verdict] : "";
  };
  const names = faults.map(({ name }) => name);
  const full = ["where", "fault", "effects", "what the sender saw", "a redelivery later"];
  return [
    "# What becomes of an event, fault by fault",
    "",
    "Written by `npx vitest run test/chaos/crash-points.test.ts -u`; in words: [guarantees.md](guarantees.md).",
    "",
    row("where the fault strikes", ...names),
    rule(names.length + 1),
    ...points.map((point) => row(point, ...names.map((name) => verdictAt(point, name)))),
    "",
    "¹ acknowledged and applied once, but the store was away until the lease had ended and was never told: if somebody asks the service to redeliver, it runs again.",
    "",
    "## In full",
    "",
    row(...full),
    rule(full.length),
    ...stories.map((story) =>
      row(story.point, story.fault, effectsOf(story), inShort(story.seen), story.redelivery),
    ),
    "",
  ].join("\n");
}
