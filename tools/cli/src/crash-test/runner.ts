import type {
  Crossing,
  Fault,
  History,
  Runner,
  Variant,
  WorldState,
} from "@svc-webhooks/crash-test";
import type { Target } from "../lib/target.js";
import { Crossings } from "./crossings.js";
import type { SentEvent } from "./events.js";
import { notRun } from "./not-run.js";
import { deliver, post } from "./sender.js";
import type { ServerProcess } from "./server-processes.js";
import { openWorld, type World, type WorldSettings } from "./world.js";

/** How long a history must be without exchanges before it ends, in milliseconds. */
const quietMs = 300;

/** How long exchanges may take to end after an event was acknowledged or given up, in milliseconds. */
const stuckMs = 15_000;

/**
 * The maximum number of runs of a history whose fault does not happen because its exchanges differ from the undisturbed
 * ones.
 */
const mostTries = 3;

/** The letters of a history's servers. A history has no more servers than letters. */
const letters = "ABCDEFGH";

export interface RunnerSettings extends WorldSettings {
  readonly events: readonly SentEvent[];
  /** The receiver, with the addresses that were checked. Its port may be a placeholder. */
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** The last attempt of an event that was not acknowledged. */
export interface Unacknowledged {
  readonly status: number | undefined;
  /** The last lines that the server printed. */
  readonly lines: readonly string[];
}

export interface ProcessRunner extends Runner {
  /**
   * Returns the last attempt of an event that was not acknowledged in the last history, or undefined if all events were
   * acknowledged.
   */
  readonly unacknowledged: () => Unacknowledged | undefined;
  /**
   * Returns whether an event had to wait until a lease expired. Only leases in our PostgreSQL store are ended early.
   */
  readonly waitedForLease: () => boolean;
}

const unusedText = (name: string): string =>
  `${name} was named but never used, so no fault is tried there. Check that your server reads this variable.`;

/** Creates a runner that runs histories with real processes. */
export function createRunner(settings: RunnerSettings): ProcessRunner {
  let names: readonly string[] | undefined;
  let hasWaited = false;
  let unacknowledged: Unacknowledged | undefined;
  return {
    waitedForLease: () => hasWaited,
    unacknowledged: () => unacknowledged,
    async run(faults, variant) {
      let history: History | undefined;
      for (let tries = 0; tries < mostTries; tries += 1) {
        settings.signal.throwIfAborted();
        unacknowledged = undefined;
        history = await runHistory(settings, faults, variant, names ?? [], {
          onWaited: () => (hasWaited = true),
          onUnacknowledged: (attempt) => (unacknowledged = attempt),
        });
        if (history.notReached === undefined) break;
      }
      if (!history) throw new Error("No history was run.");
      if (faults.length === 0 && variant === undefined && !names) {
        names = history.crossings.map(({ name }) => name);
        for (const name of history.unused ?? []) settings.note(unusedText(name));
      }
      return history;
    },
  };
}

/** Creates the servers of a history: the active one, and, with `{port}` in the URL, one that waits to take over. */
function createServers(world: World, hasTemplate: boolean, note: (text: string) => void) {
  const started = new Map<string, ServerProcess>();
  const skipped = new Set<string>();
  let next = 0;
  let waiting: Promise<ServerProcess> | undefined;
  let active: ServerProcess | undefined;

  function start(): Promise<ServerProcess> {
    const letter = letters[next];
    next += 1;
    if (letter === undefined) {
      throw notRun(
        "server_keeps_ending",
        `The server ended repeatedly: ${letters.length} servers were started in one history.`,
        "Run the server on its own with one delivery to see why.",
      );
    }
    const starting = world.startServer(letter).then((server) => {
      started.set(letter, server);
      return server;
    });
    // `turn` awaits the promise later. Until then, its rejection must not count as unhandled.
    starting.catch(() => {});
    return starting;
  }

  const follow = () => {
    // Starts the next server early only with {port}: otherwise, it needs the port of the server before it.
    if (hasTemplate) waiting ??= start();
  };

  return {
    started,
    /** Excludes a server from `turn`, because it is frozen or is being killed. */
    skip: (letter: string) => void skipped.add(letter),
    /** Returns whether a server has started, and is neither dead nor excluded. */
    isActive: (letter = "") => started.get(letter)?.isAlive() === true && !skipped.has(letter),
    /** Resolves to the active server, or to the next one if the active server has ended or was excluded. */
    async turn(): Promise<ServerProcess> {
      for (;;) {
        if (active?.isAlive() === true && !skipped.has(active.letter)) return active;
        if (active?.isAlive() === false && !skipped.has(active.letter)) {
          note(`${active.letter} ended with ${await active.ended}`);
        }
        active = await (waiting ?? start());
        waiting = undefined;
        follow();
      }
    },
    /** Resolves when the first servers have started. */
    async ready(): Promise<void> {
      const first = start();
      follow();
      active = await first;
      await waiting;
    },
  };
}

interface HistoryListener {
  readonly onWaited: () => void;
  readonly onUnacknowledged: (attempt: Unacknowledged) => void;
}

async function runHistory(
  settings: RunnerSettings,
  faults: readonly Fault[],
  variant: Variant | undefined,
  names: readonly string[],
  { onWaited, onUnacknowledged }: HistoryListener,
): Promise<History> {
  const { events, signal, target, url } = settings;
  const attemptsOf = new Map<string, AbortController>();
  let thaw: (() => void) | undefined;
  const crossings = new Crossings(faults, names, {
    async kill(letter) {
      servers.skip(letter);
      await servers.started.get(letter)?.kill();
    },
    freeze: (letter) =>
      new Promise<void>((resolve) => {
        const server = servers.started.get(letter);
        server?.send("SIGSTOP");
        servers.skip(letter);
        world.breakTransactions(letter);
        thaw = () => {
          thaw = undefined;
          server?.send("SIGCONT");
          resolve();
        };
        attemptsOf.get(letter)?.abort();
      }),
  });
  const { recorder } = crossings;
  const world = await openWorld(settings, crossings, signal);
  const servers = createServers(world, url.includes("{port}"), (text) =>
    recorder.note(text.slice(0, 1), text.slice(2)),
  );
  try {
    await servers.ready();
    if (variant === "shifted")
      await Promise.all(world.databases.map((database) => database.shift()));
    const start = await world.read();
    const afterEvents: WorldState[] = [];
    crossings.begin();
    const acknowledged = await deliver({
      events,
      isReversed: variant === "reversed",
      signal,
      async attempt(event, n) {
        const server = await servers.turn();
        const controller = new AbortController();
        attemptsOf.set(server.letter, controller);
        const process = server.letter;
        const { end } = recorder.attempt({ event, n, isCopy: false, process });
        const sent = events[event];
        const headers = (await sent?.headersOf(n)) ?? [];
        const body = sent?.body ?? new Uint8Array();
        const either = AbortSignal.any([signal, controller.signal]);
        const result = await post(target.at(server.url), headers, body, either);
        end(result);
        world.assertRunning();
        return result;
      },
      async onInFlight(event) {
        if (mayStillRun(event, recorder.attempts, servers)) return;
        const ended = await Promise.all(world.databases.map((database) => database.endLeases()));
        if (!ended.includes(true)) onWaited();
      },
      async onAcknowledged() {
        thaw?.();
        if (faults.length > 0 || events.length === 1) return;
        await crossings.quiet(quietMs, stuckMs, signal);
        afterEvents.push(await world.read());
      },
    });
    thaw?.();
    const isQuiet = await crossings.quiet(quietMs, stuckMs, signal);
    world.assertRunning();
    const last = recorder.attempts.findLast(({ event }) => acknowledged[event] === false);
    const process = last?.process ?? recorder.attempts.at(-1)?.process ?? "";
    const lines = servers.started.get(process)?.lastLines() ?? [];
    if (last) onUnacknowledged({ status: last.status, lines });
    // If an event of an undisturbed history is not acknowledged, the error itself shows the lines.
    if (!isQuiet || (last && faults.length > 0)) {
      for (const line of lines) recorder.note(process, `prints: ${line}`);
    }
    return {
      ...recorder.recorded,
      stuck: isQuiet ? undefined : stuckAt(recorder.crossings, crossings.pending()),
      start,
      end: await world.read(),
      afterEvents: afterEvents.length > 0 ? afterEvents : undefined,
      acknowledged,
      unseen: [...world.refused],
      unused: world.unused(),
      notCompared: faults.length === 0 ? await world.notCompared() : undefined,
    };
  } finally {
    await world.close();
  }
}

/**
 * Returns whether the run that holds an event's lease may continue: its server is active, and the run has not ended.
 */
function mayStillRun(
  event: number,
  attempts: History["attempts"],
  { isActive }: ReturnType<typeof createServers>,
): boolean {
  const holder = attempts.findLast(
    (attempt) => attempt.event === event && attempt.code !== "in_flight",
  );
  const hasNoResult = holder?.status === undefined || holder.code === "handler_timeout";
  return hasNoResult && isActive(holder?.process);
}

function stuckAt(crossings: readonly Crossing[], [n]: readonly number[]): History["stuck"] {
  return { crossing: n, transaction: n === undefined ? undefined : crossings[n - 1]?.transaction };
}
