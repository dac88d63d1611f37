import { PermanentError } from "@svc-webhooks/core";
import { createApp } from "./app.js";
import { print, styled } from "./print.js";
import { send, type Reply } from "./sender.js";
import { listen } from "./server.js";
import { flaky, hopeless, secrets, slow, steps, type Step } from "./steps.js";

/** Sends every step to a real app and prints a line for each; answers whether all went as told. */
export async function tellStory(): Promise<boolean> {
  const stage = new Stage();
  const app = createApp(stage, {
    secret: [
      { id: "current", key: secrets.current },
      { id: "old", key: secrets.old, expiresAt: Date.now() + 3_600_000 },
    ],
    log: (line) => stage.notes.push(line),
    onParked: (error) => stage.notes.push(`parked: ${String(error)}`),
    onHandlerError: (error) => stage.notes.push(`the handler threw: ${String(error)}`),
  });
  const server = await listen(app);

  print(`\nAn Express app with svc-webhooks listens on ${server.url}/webhooks and is sent:\n`);
  print(styled("dim", row("", "outcome", "status", "time", "handler runs")));
  const results: boolean[] = [];
  for (const step of steps) {
    // One after the other: it is a story.
    results.push(await play(step, server.url, stage));
  }
  await server.close();

  const passed = results.filter(Boolean).length;
  const requests = steps.reduce((sum, step) => sum + step.send.length, 0);
  const effects = [...stage.effects].map((effect) => `${effect[0]} ×${effect[1]}`);
  print(`\n${requests} requests. What the handlers did: ${effects.join(", ")}.`);
  const verdict = `${passed} of ${steps.length} steps went as they should.`;
  print(styled(passed === steps.length ? "green" : "red", verdict));
  return passed === steps.length;
}

/** The app's effects, and what the story needs to know of them. */
class Stage {
  readonly notes: string[] = [];
  readonly effects = new Map<string, number>();
  runs = 0;
  #failures = 1;
  #unanswered = 0;
  #oneLeft = () => {};
  #copiesAnswered = Promise.resolve();

  /** A step begins that sends so many copies. */
  expect(copies: number): void {
    this.runs = 0;
    this.#unanswered = copies;
    this.#copiesAnswered = new Promise((resolve) => (this.#oneLeft = resolve));
  }

  answered(): void {
    this.#unanswered -= 1;
    if (this.#unanswered === 1) this.#oneLeft();
  }

  async delivered(emailId = ""): Promise<void> {
    this.runs += 1;
    if (slow.body.includes(`"${emailId}"`)) await this.#copiesAnswered;
    this.#done(`recorded ${emailId}`);
  }

  async domainUpdated(domainName = ""): Promise<void> {
    this.runs += 1;
    if (hopeless.body.includes(domainName)) throw new PermanentError("no such domain any more");
    if (flaky.body.includes(domainName) && this.#failures > 0) {
      this.#failures -= 1;
      throw new Error("the database is away for a moment");
    }
    this.#done(`updated ${domainName}`);
  }

  #done(effect: string): void {
    this.effects.set(effect, (this.effects.get(effect) ?? 0) + 1);
  }
}

async function play(step: Step, url: string, stage: Stage): Promise<boolean> {
  stage.expect(step.send.length);
  const replies = await Promise.all(
    step.send.map(async (sending) => {
      const reply = await send(url + (step.path ?? "/webhooks"), sending);
      stage.answered();
      return reply;
    }),
  );

  const codes = replies.map(({ code }) => code).toSorted();
  const good = codes.join() === step.expected.toSorted().join() && stage.runs === step.runs;
  const ms = Math.max(...replies.map((reply) => reply.ms));
  const line = row(
    `${good ? "✓" : "✗"} ${step.what}`,
    counted(codes),
    counted(replies.map(({ status }) => String(status))),
    `${ms.toFixed(ms < 10 ? 1 : 0)} ms`,
    String(stage.runs),
  );
  print(styled(good ? colourOf(replies) : "red", line));
  for (const note of stage.notes.splice(0)) print(styled("dim", `      ${note}`));
  return good;
}

const row = (what: string, outcome: string, status: string, time: string, runs: string) =>
  `  ${what.padEnd(38)}${outcome.padEnd(27)}${status.padEnd(14)}${time.padStart(8)}   ${runs}`;

/** `["a", "b", "a"]` → `2× a, 1× b`; a single kind stands without its number. */
function counted(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (values.length === 1) return values.join();
  return [...counts].map(([value, count]) => `${count}× ${value}`).join(", ");
}

/** Green for what was done, yellow for what was kept from being done. */
const colourOf = (replies: readonly Reply[]) =>
  replies.some(({ code }) => code === "processed") ? "green" : "yellow";
