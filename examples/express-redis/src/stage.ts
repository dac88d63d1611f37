import { print, styled, wait } from "./print.js";
import type { Run, ServerProcess } from "./receiving.js";
import { send, type Reply } from "./sender.js";

/** Sends deliveries, records handler runs, and prints a line for each event. */
export class Stage {
  readonly requests: string[] = [];
  readonly runs: Run[] = [];
  readonly done: Set<Run> = new Set();
  passed = true;
  readonly #startedAt = performance.now();
  #resolveNextRun = (_run: Run) => {};

  nextRun(): Promise<Run> {
    return new Promise((resolve) => (this.#resolveNextRun = resolve));
  }

  runStarted(run: Run): void {
    this.runs.push(run);
    this.note(`${run.on} runs the handler for ${run.emailId}, run ${run.run}`);
    this.#resolveNextRun(run);
  }

  finish(run: Run): void {
    this.done.add(run);
    run.finish();
  }

  /** Sends one attempt and checks that it ends in one of the expected outcomes. */
  async send(to: ServerProcess, emailId: string, ...expected: readonly string[]): Promise<Reply> {
    this.requests.push(emailId);
    const attempt = this.requests.filter((id) => id === emailId).length;
    const reply = await send(to.url, emailId, attempt);
    const isGood = expected.includes(reply.code);
    if (!isGood) this.passed = false;
    const what = `${isGood ? "✓" : "✗"} ${emailId} to ${to.name}`;
    const color = reply.code === "processed" ? "green" : "yellow";
    const { code, status = "", retryAfter } = reply;
    const after = retryAfter > 0 ? `Retry-After: ${retryAfter}` : "";
    const row = [what.padEnd(16), code.padEnd(12), status, after].join("  ");
    this.#line(styled(isGood ? color : "red", row.trimEnd()));
    return reply;
  }

  /** Waits for the time given in `Retry-After`. */
  async pause({ retryAfter }: Reply): Promise<void> {
    await wait(retryAfter, `${" ".repeat(12)}the sender waits`);
  }

  note(text: string): void {
    this.#line(styled("dim", `  ${text}`));
  }

  #line(text: string): void {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    print(`${seconds.toFixed(1).padStart(6)} s  ${text}`);
  }
}
