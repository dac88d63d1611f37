import { equal, ok } from "node:assert/strict";
import type { MaybePromise, StoreCall } from "@svc-webhooks/core";
import { claimant, leaseMs, newKey, retainMs, type StoreCase } from "./probe.js";

const [me, other] = [claimant(1), claimant(2)];
const request = { leaseMs, retainMs };
/**
 * The deadline of each call, in milliseconds of real time. A call on a dead connection never completes by itself.
 */
const deadlineMs = 250;
/** The number of failed calls at which the case fails. They take 10 s, because each waits for its deadline. */
const mostFailures = 40;
/**
 * The number of successful calls in a row that count as recovery: enough to use all connections of a pool, and all
 * nodes of a small cluster.
 */
const successes = 20;

type Attempt<Result> = { readonly result: Result } | "failed" | "deadline";
type Send<Result> = (call: StoreCall) => MaybePromise<Result>;

/**
 * Returns the case for a network on which open connections silently die: their calls receive no reply, but new
 * connections work.
 */
export const silenceCase = (abandon: () => unknown): StoreCase => ({
  title:
    "after its connections have silently died, the store works again and reports no executed call as not sent",
  async run({ store }) {
    let failures = 0;
    const unsent: string[] = [];

    const attempt = async <Result>(
      send: Send<Result>,
      onUnsent?: () => void,
    ): Promise<Attempt<Result>> => {
      const deadline = new AbortController();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const over = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs);
      }).then(() => deadline.abort());
      const settled = (async () => send(deadline))().then(
        (result): Attempt<Result> => ({ result }),
        // Records `not_sent` even if the error arrives after the deadline.
        (error: unknown): Attempt<Result> => {
          if ((error as { code?: unknown } | undefined)?.code === "not_sent") onUnsent?.();
          return "failed";
        },
      );
      const ended = await Promise.race([settled, over.then(() => "deadline" as const)]);
      if (typeof ended === "object") {
        clearTimeout(timer);
        return ended;
      }
      failures += 1;
      ok(
        failures < mostFailures,
        `The store did not recover: ${failures} calls have failed. If several calls in a row miss their deadlines on a connection, abandon that connection and open a new one.`,
      );
      // Waits for the deadline even if the call was rejected before it, because senders pause before they retry.
      await over;
      return ended;
    };

    const insist = async <Result>(send: Send<Result>): Promise<Result> => {
      for (;;) {
        const ended = await attempt(send);
        if (typeof ended === "object") return ended.result;
      }
    };
    const claim = async (key: string, by = me) =>
      (await insist((call) => store.claim(key, { ...request, ...by }, call))).status;
    const complete = (key: string) =>
      insist((call) => store.complete(key, { ...request, ...me }, call));

    const [done, running] = [newKey(), newKey()];
    for (const key of [done, running]) await claim(key);
    await complete(done);
    await abandon();

    for (let inARow = 0; inARow < successes; inARow += 1) {
      const key = newKey();
      const ended = await attempt(
        (call) => store.claim(key, { ...request, ...me }, call),
        () => unsent.push(key),
      );
      if (typeof ended === "string") inARow = -1;
    }
    equal(await claim(done, other), "done");
    equal(await claim(running, other), "busy");
    equal(await complete(running), "owner");
    for (const key of unsent) {
      const status = await claim(key, other);
      equal(
        status,
        "claimed",
        "A call that failed with the code `not_sent` was executed. Use this code only if no byte of the call was sent.",
      );
    }
  },
});
