import { CrashTestError, type History, type WorldState } from "@svc-webhooks/crash-test";
import { signedDelivery } from "../../signed-delivery.js";
import { inside } from "../virtual/inside.js";
import { naming } from "../virtual/message.js";
import type { World } from "../world.js";
import { Observer, since } from "./observer.js";
import { Processes } from "./processes.js";
import { drive } from "./scheduler.js";
import { Sender } from "./sender.js";
import { secret, SimulatedWorld, type Course, type Setting } from "./world.js";

/** The time for which code may continue after the last acknowledgment and the last fault, in milliseconds. */
const restMs = 120_000;
/**
 * The number of timers that may fire after the last delivery has ended, before `restMs` limits the code. Slow code
 * needs fewer timers, but a repeating timer would never end.
 */
const mostTimers = 500;

/** One history: simulated processes, a sender, and a scheduler that drives them. */
export class Simulation {
  readonly #setting: Setting;
  readonly #course: Course;
  readonly #world: SimulatedWorld;
  readonly #processes: Processes;
  readonly #sender: Sender;
  readonly #observer: Observer;
  readonly #afterEvents: WorldState[] = [];
  #restUntilMs = restMs;
  #faultsUntilMs = 0;
  /** The number of timers that had fired when the last delivery ended. */
  #timersAtEnd: number | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(setting: Setting, course: Course) {
    this.#setting = setting;
    this.#course = course;
    const world = new SimulatedWorld(setting, course, {
      duplicate: (attempt, from) => this.#inBackground(() => this.#sender.duplicate(attempt, from)),
      crash: (process) => {
        world.twoLeasesMs();
        this.#processes.crash(process);
      },
      freeze: (process) => this.#processes.freeze(process),
      end: (process, error) => this.#processes.end(process, error),
      fail: (error) => this.#fail(error),
      onFault: (untilMs) => {
        this.#faultsUntilMs = Math.max(this.#faultsUntilMs, untilMs);
        this.#restUntilMs = Math.max(this.#restUntilMs, untilMs + restMs);
      },
    });
    const { time, recorder } = world;
    this.#world = world;
    this.#processes = new Processes(setting.subject, world, {
      progress: () => [this.#sender.acknowledged, recorder.attempts.length],
      fail: (error) => this.#fail(error),
    });
    this.#observer = new Observer(setting, world);
    this.#sender = new Sender(setting.events.length, time, recorder, {
      target: (not) => this.#processes.target(not),
      deliver: ({ process }, attempt, run) => inside.run(world.insideOf(process, attempt), run),
      inBackground: (work) => this.#inBackground(work),
      deliveryOf: (event, n) =>
        signedDelivery(setting.events[event], {
          secret,
          deliveryId: `dlv_${event + 1}`,
          attempt: n,
        }),
      areFaultsOver: () => time.elapsedMs >= this.#faultsUntilMs,
      onAcknowledged: async () => {
        this.#restUntilMs = Math.max(this.#restUntilMs, time.elapsedMs + restMs);
        if (course.faults.length === 0) this.#afterEvents.push(await this.#observer.state());
      },
    });
  }

  /** Runs the option `prepare` in a simulated process, before the first history. */
  async prepare(run: (world: Pick<World, "pool">) => Promise<void>): Promise<void> {
    const process = this.#processes.create("");
    const world = this.#world.worldOf(process);
    const preparing = inside.run(this.#world.insideOf(process), async () => run(world));
    await this.#driven("prepare", naming("prepare", preparing));
    process.kill();
  }

  /**
   * Runs the history to its end, and resolves to the record of its course.
   *
   * @param onStarted called when the first process has started, before the first delivery
   */
  async run(onStarted?: () => Promise<void>): Promise<History> {
    const { crossings, recorder, server } = this.#world;
    const observedBefore = await this.#observer.observed();
    await this.#driven(this.#setting.subject.option, this.#processes.target());
    await onStarted?.();
    const isUndisturbed = this.#course.faults.length === 0;
    const start = isUndisturbed ? await this.#observer.state() : undefined;
    this.#inBackground(() => this.#sender.start(this.#course.order));
    await drive(
      this.#world,
      () => this.#failure !== undefined,
      () => this.#untilMs(),
    );
    this.#world.isOver = true;
    if (this.#failure) throw this.#failure.error;
    const blocked = crossings.recordBlocked();
    const waiting = recorder.crossings.find(({ waitsForOwn }) => waitsForOwn) ?? blocked;
    const transaction = server.open;
    const isStuck = waiting !== undefined || transaction !== undefined;
    this.#processes.killAll();
    const end = await this.#observer.state();
    return {
      ...recorder.recorded,
      start,
      end: { ...end, observed: since(observedBefore, end.observed) },
      afterEvents: this.#afterEvents.length > 0 ? this.#afterEvents : undefined,
      acknowledged: this.#sender.acknowledged,
      stuck: isStuck ? { crossing: waiting?.n, transaction } : undefined,
      unseen: [...this.#world.unseen],
      notCompared: this.#setting.database.notCompared,
      isReal: this.#world.isReal,
      lastError: this.#world.lastError,
      worldAtDeath: this.#processes.worldAtDeath,
    };
  }

  /** Returns the time, in elapsed milliseconds, after which no timer fires and the history ends. */
  #untilMs(): number {
    if (!this.#sender.hasEnded) return Infinity;
    const { fired } = this.#world.time;
    this.#timersAtEnd ??= fired;
    return fired - this.#timersAtEnd < mostTimers ? Infinity : this.#restUntilMs;
  }

  /**
   * Runs the history until `work` has settled, and settles like `work`.
   *
   * @throws CrashTestError (as a rejection) `invalid_option` if `work` cannot settle any more
   */
  async #driven<Result>(option: string, work: Promise<Result>): Promise<Result> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
      this.#world.time.activity += 1;
    };
    work.then(settle, settle);
    const isDone = await drive(
      this.#world,
      () => isSettled || this.#failure !== undefined,
      () => Infinity,
    );
    if (this.#failure) throw this.#failure.error;
    if (isDone) return work;
    throw new CrashTestError(
      "invalid_option",
      `\`${option}\` does not resolve: it waits for something that never happens. Let it await only what happens without a delivery, such as a timer.`,
    );
  }

  /** Starts work without waiting for it. If the work fails, the history ends. */
  #inBackground(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }
}
