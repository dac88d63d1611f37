import { systemClock } from "../clock.js";
import { secretReader, type SecretReader } from "../crypto/keys.js";
import type { EventSchemas, Fields } from "../events.js";
import type { DeliveryContext } from "../handler.js";
import { assertClock, assertOptions, assertOption, assertRange } from "../lib/assert.js";
import { neverThrows } from "../lib/never-throws.js";
import { isFilled } from "../lib/text.js";
import { longestDelayMs } from "../lib/times.js";
import { lineWriter } from "../log/line.js";
import { createLog, type Log } from "../log/log.js";
import { memoryStore } from "../memory-store.js";
import type { CommonOptions, ReceiverOptions, SignedBody, StoreTimeouts } from "../options.js";
import type { DeliveryStore } from "../store.js";
import { parseRoutes, type Routes } from "./routes.js";
import { parseSchemas, type Schemas } from "./schemas.js";

type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/**
 * The options of one receiver, validated and with their defaults. `observe`, `log`,
 * `onHandlerError` and `onInternalError` never throw.
 */
export interface Config extends Complete<
  Omit<CommonOptions, "secret" | "observe" | "log" | "logger" | "onInternalError">
> {
  readonly secret: SecretReader;
  readonly on: Routes;
  readonly events: Schemas;
  readonly storeTimeouts: Complete<StoreTimeouts>;
  readonly observe: CommonOptions["observe"];
  readonly log: Log;
  readonly onInternalError: Log["internalError"];
}

const unset = () => undefined;

const hasMethods = (value: unknown, ...names: readonly string[]) =>
  names.every((name) => typeof (Object(value) as Fields)[name] === "function");

/**
 * Stores of receivers named `"default"`: a second receiver without a name would treat the first
 * one's records as its own. Global, because ESM and CommonJS may each load a copy of the core.
 */
const unnamed = (): WeakSet<DeliveryStore> =>
  ((globalThis as unknown as Record<symbol, WeakSet<DeliveryStore>>)[
    Symbol.for("svc-webhooks.unnamed")
  ] ??= new WeakSet());

/** @throws ReceiverConfigError with any of its codes */
export function resolveOptions(options: ReceiverOptions<EventSchemas>): Config {
  const {
    secret,
    on,
    clock = systemClock,
    store = memoryStore({ clock }),
    name = store?.shared || unnamed().has(store) ? "" : "default",
    dedupeBy = "delivery",
    eventType = firstTypeField,
    eventId = unset,
    maxBodyBytes = 1_048_576,
    bodyTimeoutMs = 10_000,
    leaseMs = 30_000,
    handlerTimeoutMs = Math.min(10_000, leaseMs - 5_000),
    maxRunMs = Math.max(900_000, leaseMs),
    retainMs = Math.max(604_800_000, maxRunMs + leaseMs),
    storeTimeouts: timeouts = {},
    logger = console,
    log,
    onHandlerError,
    maxRuns = Infinity,
    onParked = unset,
    onStoreError = "refuse",
    events = {},
    onInternalError,
    observe,
    // `Object`, here and below, because JavaScript callers may pass anything.
  } = Object(options) as typeof options;
  const {
    claim = 1_500,
    extend = 1_500,
    release = 1_500,
    complete = 2_000,
  } = Object(timeouts) as StoreTimeouts;
  const storeTimeouts = { claim, extend, release, complete };
  const given = {
    secret,
    on,
    clock,
    store,
    name,
    dedupeBy,
    eventType,
    eventId,
    maxBodyBytes,
    bodyTimeoutMs,
    leaseMs,
    handlerTimeoutMs,
    maxRunMs,
    retainMs,
    storeTimeouts,
    logger,
    log,
    onHandlerError,
    maxRuns,
    onParked,
    onStoreError,
    events,
    onInternalError,
    observe,
  };
  // First, because a misspelt option would otherwise be reported as a missing one.
  assertOptions(options, Object.keys(given));
  assertOptions(timeouts, Object.keys(storeTimeouts), "storeTimeouts");

  const hooks = {
    eventType,
    eventId,
    log: log ?? unset,
    onHandlerError: onHandlerError ?? unset,
    onParked,
    observe: observe ?? unset,
    onInternalError: onInternalError ?? unset,
  };
  for (const [option, hook] of Object.entries(hooks)) {
    assertOption(typeof hook === "function", "invalid_option", option, hook);
  }
  assertClock(clock);
  assertOption(hasMethods(logger, "info", "warn", "error"), "invalid_option", "logger", logger);
  assertOption(
    hasMethods(store, "claim", "complete", "release", "extend", "forget"),
    "invalid_option",
    "store",
    store,
  );
  assertOption(
    isFilled(name) && name.length <= 256,
    name === "" ? "missing_name" : "invalid_option",
    "name",
    name,
  );
  assertOption(
    ["delivery", "event", "body"].includes(dedupeBy),
    "invalid_option",
    "dedupeBy",
    dedupeBy,
  );
  assertOption(dedupeBy !== "event" || eventId !== unset, "missing_event_id", "eventId");
  assertOption(
    ["refuse", "process"].includes(onStoreError),
    "invalid_option",
    "onStoreError",
    onStoreError,
  );
  assertOption(maxRuns === Infinity || onParked !== unset, "missing_on_parked", "onParked");
  assertRange({ maxBodyBytes }, 1, 104_857_600);
  assertRange({ bodyTimeoutMs }, 1, 300_000);
  assertRange({ leaseMs }, 10_000, 3_600_000);
  assertRange({ handlerTimeoutMs }, 1, leaseMs - 5_000);
  assertRange({ maxRunMs }, leaseMs, longestDelayMs);
  assertRange({ retainMs }, maxRunMs + leaseMs, 31_536_000_000);
  assertRange(storeTimeouts, 1, 10_000, "storeTimeouts.");
  if (maxRuns !== Infinity) assertRange({ maxRuns }, 1, 1_000_000);

  const routes = parseRoutes(on);
  const write = neverThrows(
    lineWriter(name, logger, log),
    neverThrows(onInternalError ?? unset, unset),
  );
  const handlerKeys = Object.keys(on).filter((key) => on[key]);
  const lines = createLog(clock, write, handlerKeys);
  const internalError = neverThrows(
    onInternalError ? (error: unknown) => onInternalError(error) : lines.internalError,
    unset,
  );
  const handlerError = neverThrows(onHandlerError ?? lines.handlerError, internalError);
  // `onHandlerError` receives only the error of a failed `onParked`.
  const parking = async (error: unknown, context: DeliveryContext) => {
    try {
      await onParked(error, context);
    } catch (failure) {
      if (!onHandlerError) lines.handlerError(error, context);
      throw failure;
    }
  };
  const dropped = onHandlerError ? handlerError : neverThrows(lines.dropped, internalError);
  const config = {
    ...given,
    onInternalError: internalError,
    onHandlerError: handlerError,
    onParked: onParked === unset ? dropped : parking,
    log: lines,
    observe: observe && neverThrows(observe, internalError),
    events: parseSchemas(events),
    secret: secretReader(secret, clock),
    on: routes,
  };
  if (name === "default") unnamed().add(store);
  return config;
}

function firstTypeField({ type, event_type, event }: SignedBody): string | undefined {
  return [type, event_type, event].find(isFilled);
}
