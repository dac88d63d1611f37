import { print, styled, wait } from "./print.js";
import type { Receiving, Run } from "./receiving.js";
import { send, type Reply } from "./sender.js";

/** Where the story happens: sends, listens to the handlers, and prints a line for everything. */
export class Stage {
  readonly requests: string[] = [];
  readonly runs: Run[] = [];
  readonly done: Set<Run> = new Set();
  isAsTold = true;
  readonly #startedAt = performance.now();
  #begun = (_run: Run) => {};

  nextRun(): Promise<Run> {
    return new Promise((resolve) => (this.#begun = resolve));
  }

  begun(run: Run): void {
    this.runs.push(run);
    this.tell(`${run.on} runs the handler for ${run.emailId}, run ${run.run}`);
    this.#begun(run);
  }

  finish(run: Run): void {
    this.done.add(run);
    run.finish();
  }

  /** One attempt, which must have one of these outcomes. */
  async send(to: Receiving, emailId: string, ...expected: readonly string[]): Promise<Reply> {
    this.requests.push(emailId);
    const attempt = this.requests.filter((one) => one === emailId).length;
    const reply = await send(to.url, emailId, attempt);
    const isGood = expected.includes(reply.code);
    if (!isGood) this.isAsTold = false;
    const what = `${isGood ? "✓" : "✗"} ${emailId} to ${to.name}`;
    const colour = reply.code === "processed" ? "green" : "yellow";
    const { code, status = "", retryAfter } = reply;
    const after = retryAfter > 0 ? `Retry-After: ${retryAfter}` : "";
    const row = [what.padEnd(16), code.padEnd(12), status, after].join("  ");
    this.#line(styled(isGood ? colour : "red", row.trimEnd()));
    return reply;
  }

  /** Waits as long as the answer asks for. */
  async pause({ retryAfter }: Reply): Promise<void> {
    await wait(retryAfter, `${" ".repeat(12)}the sender waits`);
  }

  tell(what: string): void {
    this.#line(styled("dim", `  ${what}`));
  }

  #line(text: string): void {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    print(`${seconds.toFixed(1).padStart(6)} s  ${text}`);
  }
}
