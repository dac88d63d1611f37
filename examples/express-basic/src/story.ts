import { PermanentError } from "svc-webhooks";
import { createApp } from "./app.js";
import { print, styled } from "./print.js";
import { send, type Reply } from "./sender.js";
import { listen } from "./server.js";
import { flaky, hopeless, secrets, slow, steps, type Step } from "./steps.js";

/**
 * Sends every step to a real app and prints a line for each.
 * Resolves to whether every step had its expected result.
 */
export async function runStory(): Promise<boolean> {
  const stage = new Stage();
  const app = createApp(stage, {
    secret: [
      { id: "current", key: secrets.current },
      { id: "old", key: secrets.old, expiresAt: Date.now() + 3_600_000 },
    ],
    // The steps already show refusals, duplicates and ignored types.
    logger: { info() {}, warn() {}, error: (line) => stage.notes.push(`log: ${line}`) },
    onParked: (error) => stage.notes.push(`onParked received ${String(error)}`),
    onHandlerError: (error) => stage.notes.push(`onHandlerError received ${String(error)}`),
  });
  const server = await listen(app);

  print(`\nAn Express app with a svc-webhooks receiver listens on ${server.url}.`);
  print('Each step sends real HTTP requests; "runs" counts how often a handler started.\n');
  print(styled("dim", row("  step", "outcome", "status", "time", "runs")));
  const results: boolean[] = [];
  for (const step of steps) {
    // The steps run one after the other: later ones depend on earlier ones.
    results.push(await play(step, server.url, stage));
  }
  await server.close();

  const passed = results.filter(Boolean).length;
  const verdict = `${passed} of ${steps.length} steps ended as expected.`;
  print(styled(passed === steps.length ? "green" : "red", `\n${verdict}`));
  return passed === steps.length;
}

/** The app's handlers, and the state that the steps are checked against. */
class Stage {
  readonly notes: string[] = [];
  runs = 0;
  #failures = 1;
  #pendingReplies = 0;
  #resolveOthersReplied = () => {};
  #othersReplied = Promise.resolve();

  /** Prepares for a step that sends this number of copies. */
  startStep(copies: number): void {
    this.runs = 0;
    this.#pendingReplies = copies;
    this.#othersReplied = new Promise((resolve) => (this.#resolveOthersReplied = resolve));
  }

  replyReceived(): void {
    this.#pendingReplies -= 1;
    if (this.#pendingReplies === 1) this.#resolveOthersReplied();
  }

  async delivered(emailId = ""): Promise<void> {
    this.runs += 1;
    if (slow.body.includes(`"${emailId}"`)) await this.#othersReplied;
  }

  async domainUpdated(domainName = ""): Promise<void> {
    this.runs += 1;
    if (hopeless.body.includes(domainName)) throw new PermanentError("the domain was deleted");
    if (flaky.body.includes(domainName) && this.#failures > 0) {
      this.#failures -= 1;
      throw new Error("the database is unreachable");
    }
  }
}

async function play(step: Step, url: string, stage: Stage): Promise<boolean> {
  stage.startStep(step.send.length);
  const replies = await Promise.all(
    step.send.map(async (sending) => {
      const reply = await send(url + (step.path ?? "/webhooks"), sending);
      stage.replyReceived();
      return reply;
    }),
  );
  replies.sort((a, b) => a.status - b.status);

  const codes = replies.map(({ code }) => code);
  const good =
    codes.toSorted().join() === step.expected.toSorted().join() && stage.runs === step.runs;
  const ms = Math.max(...replies.map((reply) => reply.ms));
  const line = row(
    `${good ? "✓" : "✗"} ${step.title}`,
    counted(codes),
    counted(replies.map(({ status }) => String(status))),
    `${ms.toFixed(ms < 10 ? 1 : 0)} ms`,
    String(stage.runs),
  );
  print(styled(good ? colorOf(replies) : "red", line));
  for (const note of stage.notes.splice(0)) print(styled("dim", indented(note)));
  return good;
}

const row = (title: string, outcome: string, status: string, time: string, runs: string) =>
  `  ${title.padEnd(29)}${outcome.padEnd(24)}${status.padEnd(12)}${time.padStart(7)}  ${runs}`;

/** Counts equal values: `["a", "b", "b"]` → `a, 2× b`. */
function counted(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return Array.from(counts, ([value, count]) => (count === 1 ? value : `${count}× ${value}`)).join(
    ", ",
  );
}

/** Returns at most two lines of a note, indented below its step: the demo should fit on a screen. */
function indented(note: string): string {
  const lines = Array.from(note.matchAll(/(\S.{0,69})(?:\s|$)/g), ([, line]) => `      ${line}`);
  return lines.length > 2 ? `${lines.slice(0, 2).join("\n")} …` : lines.join("\n");
}

/** Returns green if an event was processed, yellow otherwise. */
const colorOf = (replies: readonly Reply[]) =>
  replies.some(({ code }) => code === "processed") ? "green" : "yellow";
