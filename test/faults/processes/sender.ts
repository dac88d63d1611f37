import { setTimeout as pause } from "node:timers/promises";
import { signedDelivery } from "@svc-webhooks/testing";
import type { Progress } from "@svc-webhooks/kit/progress";
import type { Place } from "./herd.js";
import { seeded, type Random } from "@svc-webhooks/kit/random";
import { now, realLeaseMs } from "./time.js";
import type { Ack } from "./verdict.js";

export interface Sender {
  readonly acks: readonly Ack[];
  /** Returns the number of events so far. */
  readonly sent: () => number;
  /** The number of requests by outcome code, or by `no response`. */
  readonly results: ReadonlyMap<string, number>;
  /** Resolves when every event has been acknowledged. */
  readonly done: Promise<unknown>;
}

export interface Load {
  readonly events: number;
  /** Whether to send further events after these. Default: no. */
  readonly isMoreNeeded?: () => boolean;
  /** The maximum number of events that are delivered concurrently. */
  readonly lanes: number;
  /** Counts the events that have been acknowledged. */
  readonly progress: Progress;
  /** Stops the sender early when it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * Returns how long the sender waits for a response, in milliseconds. It waits longer for each attempt: on a busy machine,
 * every response could be late otherwise, and each attempt would make the others later.
 */
const giveUpMs = (attempt: number): number => Math.round(realLeaseMs * Math.min(0.3 * attempt, 8));

/**
 * Sends like the service does: retries a delivery with growing delays until it gets a 2xx in time. 15 % of the attempts
 * send copies to two receivers concurrently.
 */
export function send(places: readonly Place[], seed: string, load: Load): Sender {
  const acks: Ack[] = [];
  const results = new Map<string, number>();
  const count = (result: string) => results.set(result, (results.get(result) ?? 0) + 1);

  const attempt = async ({ port }: Place, deliveryId: string, event: object, number: number) => {
    const delivery = await signedDelivery(event, { deliveryId, attempt: number });
    const signal = AbortSignal.timeout(giveUpMs(number));
    try {
      const response = await fetch(`http://127.0.0.1:${port}`, { ...delivery, signal });
      if (response.ok) acks.push({ deliveryId, at: now() });
      const { status, error } = (await response.json()) as ResponseBody;
      count(status ?? error?.code ?? "nothing");
      return response.ok;
    } catch {
      // The connection was refused or reset, or the response came too late.
      count("no response");
      return false;
    }
  };

  const deliver = async (deliveryId: string, random: Random) => {
    const isSlow = random.chance(0.02);
    const event = {
      type: "chaos.event",
      beforeMs: isSlow ? realLeaseMs * 0.7 : random.between(1, 10),
      afterMs: random.between(0, 5),
    };
    for (let number = 1; ; number += 1) {
      const first = random.pick(places);
      const others = places.filter((place) => place !== first);
      const targets = random.chance(0.15) ? [first, random.pick(others)] : [first];
      const accepted = await Promise.all(
        targets.map((place) => attempt(place, deliveryId, event, number)),
      );
      if (accepted.includes(true)) return load.progress.step();
      load.signal.throwIfAborted();
      await pause(Math.min(20 * 2 ** number, 2_000) * (random.between(50, 150) / 100));
    }
  };

  let sent = 0;
  const lane = async () => {
    while (sent < load.events || load.isMoreNeeded?.()) {
      const id = `dlv_${sent}`;
      sent += 1;
      const random = seeded(`${seed}/${id}`);
      await pause(random.between(0, 100));
      await deliver(id, random);
    }
  };
  return {
    acks,
    results,
    sent: () => sent,
    done: Promise.all(Array.from({ length: load.lanes }, lane)),
  };
}

interface ResponseBody {
  readonly status?: string;
  readonly error?: { readonly code: string };
}
