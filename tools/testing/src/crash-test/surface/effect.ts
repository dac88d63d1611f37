import { CrashTestError, keyIn } from "@svc-webhooks/crash-test";
import type { Crossings } from "../virtual/crossings.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { oneLine } from "../virtual/message.js";
import { connectionReset } from "../virtual/reset.js";
import { inWorld } from "./fetch.js";
import { whereCalled } from "./source.js";

export interface EffectOptions<Args extends readonly unknown[]> {
  /** Returns the idempotency key that the other side honors. Default: the calls have no key. */
  readonly key?: ((...args: Args) => string | undefined) | undefined;
  /** Whether the effect changes nothing. Default false. */
  readonly reads?: boolean | undefined;
}

/** Returns a function whose calls are crossings: `run` executes them in the outside world. */
export function crossingEffect<Args extends readonly unknown[], Result>(
  crossings: Crossings,
  owner: SimulatedProcess,
  effectName: string,
  run: (...args: Args) => Result | Promise<Result>,
  { key, reads = false }: EffectOptions<Args> = {},
): (...args: Args) => Promise<Result> {
  if (typeof effectName !== "string" || effectName.trim() === "" || typeof run !== "function") {
    throw new CrashTestError(
      "invalid_option",
      '`world.effect` needs a name and a function: world.effect("charge", charge).',
    );
  }
  const name = oneLine(effectName);
  return async (...args) =>
    crossings.cross<Result>(owner, {
      name,
      kind: "call",
      effects: reads ? [] : [name],
      reads: reads ? [name] : [],
      key: keyIn(key?.(...args)),
      source: whereCalled(),
      execute: () =>
        inWorld(async () => {
          try {
            return { reply: { value: await run(...args) } };
          } catch (error) {
            return { reply: { error } };
          }
        }),
      broken: () => connectionReset(`${name}: read ECONNRESET`),
    });
}
