import { CrashTestError, type WorldState } from "@svc-webhooks/crash-test";
import { inWorld } from "../surface/fetch.js";
import { inside } from "../virtual/inside.js";
import { naming, oneLine } from "../virtual/message.js";
import { withoutTime } from "./scheduler.js";
import type { Setting, SimulatedWorld } from "./world.js";

type Observed = WorldState["observed"];

/** Reads the state of the outside world: the tables, and the values of the option `observe`. */
export class Observer {
  readonly #setting: Pick<Setting, "database" | "observe">;
  readonly #world: SimulatedWorld;

  constructor(setting: Pick<Setting, "database" | "observe">, world: SimulatedWorld) {
    this.#setting = setting;
    this.#world = world;
  }

  async state(): Promise<WorldState> {
    return { tables: await this.#setting.database.read(), observed: await this.observed() };
  }

  async observed(): Promise<Observed> {
    const values = await Promise.all(
      Object.entries(this.#setting.observe).map(async ([name, read]) => {
        const reading = inside.run(this.#world.outside(), async () => inWorld(read));
        if (!(await withoutTime(reading, this.#world.pendingOperations))) {
          throw observeError(name, "does not resolve. It must not wait for time to pass.");
        }
        return [name, jsonOf(name, await naming(`observe.${oneLine(name)}`, reading))] as const;
      }),
    );
    return Object.fromEntries(values);
  }
}

const observeError = (name: string, text: string): CrashTestError =>
  new CrashTestError("invalid_option", `\`observe.${oneLine(name)}\` ${text}`);

/** Returns a copy of an observed value, as JSON represents it. Undefined becomes null. */
function jsonOf(name: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value ?? null)) as unknown;
  } catch {
    throw observeError(
      name,
      "returns a value that JSON cannot represent. Return a list or object.",
    );
  }
}

/** Returns observed values without the entries that lists already had before the history. */
export function since(before: Observed, after: Observed): Observed {
  const entries = Object.entries(after).map(([name, value]) => {
    const old = before[name];
    return [name, Array.isArray(value) && Array.isArray(old) ? value.slice(old.length) : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}
