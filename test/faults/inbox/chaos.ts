import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { InboxAdmin } from "@svc-webhooks/core/inbox";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { Progress } from "@svc-webhooks/kit/progress";
import { seeded, type Random } from "@svc-webhooks/kit/random";
import { startChild } from "../processes/child.js";
import { mostCalmMs } from "../processes/monkey.js";

/** The settings of one process. Its program receives them as JSON, and sends its port, or 0, once it is ready. */
export interface Settings {
  readonly role: "acceptor" | "worker";
}

/** The engine of a run, with an empty queue and an empty table of effects. */
export interface InboxWorld {
  /** The program of the processes. */
  readonly script: string;
  /** The program that runs it. Default: this Node. */
  readonly node?: string | undefined;
  /** The settings of all processes. */
  readonly settings: object;
  readonly admin: InboxAdmin;
  /** Harms what the processes share, after every number of acknowledged events. Returns the name of the harm. */
  readonly harm?: { readonly every: number; readonly strike: (count: number) => Promise<string> };
  /** Returns whether each run of the event with this index fails until `repair`. Default: none does. */
  readonly isBad?: (index: number) => boolean;
  readonly repair?: () => unknown;
  /** Resolves to the effects in the order in which they were written. */
  readonly effects: () => Promise<readonly Effect[]>;
  readonly close: () => Promise<unknown>;
}

/** The parameters of a run. */
export interface Load {
  readonly seed: string;
  /** The least number of events. More are sent until there were enough strikes. */
  readonly events: number;
  /** The least number of kills, and of freezes. Default 0. */
  readonly strikes?: number;
}

/** The numbers of a run. */
export interface Result {
  readonly lost: number;
  readonly twice: number;
  readonly outOfOrder: number;
  readonly left: number;
  /** The ends of processes that nobody killed. */
  readonly exits: readonly string[];
  /** The letters of events that are not bad. */
  readonly innocent: readonly string[];
  /** The errors of the dead letters that were left after those of bad events had been repaired and released. */
  readonly dead: readonly (string | undefined)[];
  readonly summary: string;
}

/** The numbers of a run without a mistake. */
export const eachOnce: Omit<Result, "summary"> = {
  lost: 0,
  twice: 0,
  outOfOrder: 0,
  left: 0,
  dead: [],
  exits: [],
  innocent: [],
};

const leaseMs = 10_000;

/** The time after which a supervisor ends a process that has not become ready, in milliseconds. */
const startMs = 60_000;

/** A place of a process. When the process ends, by a strike or by an event, another one starts. */
class Place {
  readonly #world: InboxWorld;
  readonly #role: Settings["role"];
  readonly #exits: string[];
  #isOver = false;
  #started: Promise<void> = Promise.resolve();
  process!: ChildProcess;
  port = 0;

  /** @param exits receives the ends of processes that nobody killed */
  constructor(world: InboxWorld, role: Settings["role"], exits: string[]) {
    this.#world = world;
    this.#role = role;
    this.#exits = exits;
  }

  start(): Promise<void> {
    return (this.#started = this.#start(20));
  }

  async #start(attemptsLeft: number): Promise<void> {
    const { script, settings, node } = this.#world;
    try {
      const own = { ...settings, role: this.#role };
      ({ process: this.process, port: this.port } = await startChild(script, own, startMs, node));
    } catch (error) {
      // The database may have crashed while the process started, or the process has waited for a reply on a connection
      // that died silently.
      if (attemptsLeft === 0) throw error;
      return this.#start(attemptsLeft - 1);
    }
    this.process.once("exit", (code, signal) => {
      if (this.#isOver) return;
      if (signal !== "SIGKILL") this.#exits.push(`${this.#role}: ${String(code ?? signal)}`);
      void this.start();
    });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#started;
    const exited = once(this.process, "exit");
    if (this.process.kill("SIGKILL")) await exited;
  }
}

/** The number of each kind of harm. */
type Counts = Record<string, number>;

/**
 * Kills and freezes processes as the run progresses, and harms what they share, until it is stopped. A place starts
 * another process after a kill.
 */
function unleash(
  places: readonly Place[],
  random: Random,
  { harm }: InboxWorld,
  progress: Progress,
  counts: Counts,
): () => Promise<void> {
  const pending = new Map<Place, Promise<void>>();
  const stopped = new AbortController();
  const { signal } = stopped;
  const count = (kind: string) => (counts[kind] = (counts[kind] ?? 0) + 1);
  const strike = async (place: Place) => {
    if (!random.chance(0.4)) {
      count("kills");
      place.process.kill("SIGKILL");
      return;
    }
    count("freezes");
    const { process } = place;
    process.kill("SIGSTOP");
    // Beyond the lease, so that another worker runs the job meanwhile.
    await pause(leaseMs * 1.3);
    process.kill("SIGCONT");
  };
  const rage = async () => {
    while (!signal.aborted) {
      await progress.after(random.between(2, 15), signal, mostCalmMs);
      // The moment of a step is not the only one that matters.
      await pause(random.between(0, 200));
      if (signal.aborted) break;
      const place = random.pick(places);
      if (pending.has(place) || pending.size > 1) continue;
      pending.set(
        place,
        strike(place).finally(() => pending.delete(place)),
      );
    }
    await Promise.all(pending.values());
  };
  let strikes = 0;
  const harming = progress.every(harm?.every ?? Infinity, signal, async () => {
    strikes += 1;
    count((await harm?.strike(strikes)) ?? "");
  });
  const ended = Promise.all([rage(), harming]);
  return async () => {
    stopped.abort();
    await ended;
  };
}

export interface Effect {
  readonly delivery: string;
  readonly key: string;
  /** The time of the effect, in epoch milliseconds. */
  readonly at: string | number;
}

/** Reads the effects in the order in which they were written. */
function judge(
  effects: readonly Effect[],
  acknowledgedAt: ReadonlyMap<string, number>,
  letters: ReadonlySet<string>,
) {
  const lastOf = new Map<string, { readonly index: number; readonly at: number }>();
  const seen = new Set<string>();
  let outOfOrder = 0;
  let longestWaitMs = 0;
  for (const { delivery, key, at } of effects) {
    const last = lastOf.get(key) ?? { index: -1, at: 0 };
    const index = Number(delivery.slice(4));
    seen.add(delivery);
    // Letters run after later events of their key.
    if (letters.has(delivery)) continue;
    if (index < last.index) outOfOrder += 1;
    // The time in which an event of the key waited and none took effect.
    const since = Math.max(acknowledgedAt.get(delivery) ?? 0, last.at);
    longestWaitMs = Math.max(longestWaitMs, Number(at) - since);
    lastOf.set(key, { index, at: Number(at) });
  }
  return { seen, outOfOrder, longestWaitMs };
}

/** Sends events to two acceptors, while they and three workers are killed and frozen, until every event is done. */
export async function runChaos(load: Load, world: InboxWorld): Promise<Result> {
  const { seed, events, strikes = 0 } = load;
  const { admin, isBad = () => false } = world;
  const counts: Counts = { kills: 0, freezes: 0 };
  const exits: string[] = [];
  const placeOf = (role: Settings["role"]) => new Place(world, role, exits);
  const acceptors = [placeOf("acceptor"), placeOf("acceptor")];
  const places = [...acceptors, placeOf("worker"), placeOf("worker"), placeOf("worker")];
  await Promise.all(places.map((place) => place.start()));

  const keys = Math.max(10, Math.round(events / 40));
  const start = performance.now();
  const progress = new Progress();
  const stop = unleash(places, seeded(`${seed}/monkey`), world, progress, counts);
  const random = seeded(`${seed}/sender`);
  let requests = 0;
  const post = async (id: string, key: string, attempt: number): Promise<boolean> => {
    requests += 1;
    const { headers, body } = await signed(
      eventBody("email.sent", { id, key, n: Number(id.slice(4)) }),
      {
        "x-svc-delivery-id": id,
      },
    );
    try {
      const url = `http://127.0.0.1:${random.pick(acceptors).port}/`;
      // Longer for each attempt: on a busy machine, every response could be late otherwise.
      const signal = AbortSignal.timeout(3_000 * attempt);
      const response = await fetch(url, { method: "POST", headers, body: body.toString(), signal });
      await response.arrayBuffer();
      return response.status === 200;
    } catch {
      return false;
    }
  };
  const acknowledgedAt = new Map<string, number>();
  const isMoreNeeded = () => Math.min(counts["kills"] ?? 0, counts["freezes"] ?? 0) < strikes;
  const sendKey = async (key: number) => {
    for (let index = key; index < events || isMoreNeeded(); index += keys) {
      const id = `dlv_${index}`;
      const copies = random.chance(0.1) ? 2 : 1;
      const send = (attempt: number) =>
        Promise.all(Array.from({ length: copies }, () => post(id, `k${key}`, attempt)));
      for (let attempt = 1; !(await send(attempt)).includes(true); attempt += 1) {
        await pause(random.between(50, 300));
      }
      acknowledgedAt.set(id, Date.now());
      progress.step();
      // Spreads the events over the time of several kills.
      await pause(random.between(0, 2_000));
    }
  };
  await Promise.all(Array.from({ length: keys }, (_, key) => sendKey(key)));
  await stop();
  const sentMs = performance.now() - start;

  const bad = [...acknowledgedAt.keys()].filter((id) => isBad(Number(id.slice(4)))).length;
  const left = async () => {
    const { ready, delayed, active } = await admin.stats();
    return ready + delayed + active;
  };
  const isSettled = async () => (await left()) === 0 && (await admin.stats()).dead >= bad;
  while (!(await isSettled())) {
    await pause(200);
    // Without bad events, no letter may appear.
    if (bad === 0 && (await admin.stats()).dead > 0) break;
  }
  const letters = new Set<string>();
  if (bad > 0) {
    for await (const { deliveryId } of admin.list({ state: "dead" })) letters.add(deliveryId);
    await world.repair?.();
    await admin.release({ perSecond: 1_000 });
    while ((await left()) > 0) await pause(200);
  }
  const effects = await world.effects();
  const { seen, outOfOrder, longestWaitMs } = judge(effects, acknowledgedAt, letters);
  const dead: (string | undefined)[] = [];
  for await (const { error } of admin.list({ state: "dead" })) dead.push(error);
  const acknowledged = acknowledgedAt.size;
  const totalMs = performance.now() - start;
  const result = {
    lost: acknowledged - seen.size,
    twice: effects.length - seen.size,
    outOfOrder,
    left: await left(),
    dead,
    exits,
    innocent: [...letters].filter((id) => !isBad(Number(id.slice(4)))),
  };
  await Promise.all(places.map((one) => one.end()));
  await world.close();
  const harms = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  const seconds = (ms: number) => Math.round(ms / 1_000);
  return {
    ...result,
    summary: `seed ${seed}: ${acknowledged} acknowledged in ${requests} requests, ${harms.join(", ")}; sent after ${seconds(sentMs)} s, done after ${seconds(totalMs)} s; a key waited for at most ${seconds(longestWaitMs)} s; ${effects.length} rows, ${outOfOrder} out of order; ${letters.size} letters released`,
  };
}
