import { once } from "node:events";
import { signedDelivery } from "@svc-webhooks/testing";
import type { Pool } from "pg";
import { describe, expect, test, type TestContext } from "vitest";
import { isFull } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { startChild, type Child } from "../../processes/child.js";
import { inboxPoints, inboxResultAt, type InboxPoint, type Place } from "./points.js";
import type { ProcessSettings, Progress } from "./process.js";

/** The servers of an engine's processes, and the bundle that they run. */
interface Rig {
  readonly script: string;
  readonly pool: Pool;
  readonly servers: Pick<ProcessSettings, "connectionString" | "redisPort">;
}

const times = { 1: "once", 2: "twice" };

/**
 * Registers a test for each point at which a process dies, with the documented result. An effect outside of
 * `transaction` mostly has the result of one inside: the points with another result always run, all others in full.
 */
export function registerPoints(rig: () => Rig): void {
  describe.each(["inside", "outside"] as const)("whose effect is %s of `transaction`", (place) => {
    for (const point of inboxPoints) {
      const { [place]: effects, sender, next } = inboxResultAt(point);
      if (effects === undefined || (place === "outside" && effects === 1 && !isFull)) continue;
      test.concurrent(
        `has it ${times[effects]} if a process dies at "${point}"`,
        async (context) => {
          expect(await play(context, rig(), point, place)).toEqual({ effects, sender, next });
        },
      );
    }
  });
}

/**
 * Sends a delivery to a process that kills itself at `point`, and to a second one until it gets 200. Resolves when the
 * second one has run what is left, and a redelivery has changed nothing.
 */
async function play(
  { onTestFinished }: TestContext,
  { script, pool, servers }: Rig,
  point: InboxPoint,
  place: Place,
) {
  const id = `${point.replaceAll(" ", "-")}-${place}`;
  const start = async (more: Partial<ProcessSettings>) => {
    const child = await startChild(script, { ...servers, queue: id, place, ...more });
    onTestFinished(() => void child.process.kill("SIGKILL"));
    return child;
  };
  const attempt = async ({ port }: Child): Promise<string> => {
    const delivery = await signedDelivery({ type: "effect.wanted" }, { deliveryId: id });
    const response = await fetch(`http://127.0.0.1:${port}`, delivery).catch(() => undefined);
    if (!response) return "no response";
    return `${response.status} ${((await response.json()) as { status?: string }).status ?? ""}`;
  };
  /** Repeats an attempt that failed because the machine is busy. */
  const delivered = async (child: Child): Promise<string> => {
    let response = "";
    await until(async () => {
      response = await attempt(child);
      return !response.startsWith("503");
    }, "a process accepts the delivery");
    return response;
  };

  const first = await start({ strike: point });
  const exited = once(first.process, "exit");
  const sender = [await delivered(first)];
  if (inboxResultAt(point).dies === "worker") first.process.send("work");
  expect(await exited).toEqual([null, "SIGKILL"]);

  const second = await start({});
  if (!sender[0]?.startsWith("200")) sender.push(await delivered(second));
  second.process.send("work");
  let next: readonly string[] = [];
  const isDone = async () => {
    const response = await fetch(`http://127.0.0.1:${second.port}`);
    const { left, runs } = (await response.json()) as Progress;
    next = runs;
    return left === 0;
  };
  await until(isDone, "the second process has run the job");
  expect(await delivered(second)).toBe("200 enqueued");
  await until(isDone, "the redelivery has changed nothing");
  const { rowCount: effects } = await pool.query("select from effects where delivery_id = $1", [
    id,
  ]);
  return { effects, sender, next };
}
