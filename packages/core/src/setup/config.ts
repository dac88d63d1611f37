import { isDevelopment } from "#texts";
import { systemClock } from "../clock.js";
import { secretReader, type SecretReader } from "../crypto/keys.js";
import type { EventSchemas } from "../events.js";
import type { DeliveryContext } from "../handler.js";
import { isObject } from "../lib/is-object.js";
import { isWhole } from "../lib/is-whole.js";
import { neverThrows } from "../lib/never-throws.js";
import { isFilled } from "../lib/text.js";
import { longestDelayMs } from "../lib/times.js";
import { lineWriter } from "../log/line.js";
import { createLog, type Log } from "../log/log.js";
import { memoryStore } from "../memory-store.js";
import type { SignedBody } from "../delivery.js";
import type { CommonOptions, ReceiverOptions, StoreTimeouts } from "../options.js";
import type { Scheme } from "../scheme.js";
import type { DeliveryStore } from "../store.js";
import { assertOption } from "../texts/assert.js";
import { parseRoutes, type Routes } from "./routes.js";
import { parseSchemas, type Schemas } from "./schemas.js";
import { hasMethods, isFunction, readOptions, type Complete, type OptionTable } from "./table.js";

/** The options that are undefined by default. */
type Optional = "scheme" | "around" | "log" | "observe" | "onHandlerError" | "onInternalError";

type Given = Complete<Omit<ReceiverOptions<EventSchemas>, Optional | "eventType">> &
  Pick<CommonOptions, Optional> &
  Pick<Config, "eventType">;

/**
 * The options of one receiver, validated and with defaults applied. `observe`, `log`, `onHandlerError` and
 * `onInternalError` never throw.
 */
export interface Config extends Complete<
  Omit<
    CommonOptions,
    | "secret"
    | "scheme"
    | "around"
    | "eventType"
    | "observe"
    | "log"
    | "logger"
    | "onInternalError"
    | "onParked"
  >
> {
  readonly secret: SecretReader;
  readonly scheme?: Scheme | undefined;
  readonly eventType: NonNullable<Scheme["eventType"]>;
  readonly on: Routes;
  readonly events: Schemas;
  readonly storeTimeouts: Complete<StoreTimeouts>;
  readonly around?: CommonOptions["around"];
  readonly observe: CommonOptions["observe"];
  readonly log: Log;
  readonly onInternalError: Log["internalError"];
  /** @param isKept whether the caller of `resume` still has the delivery */
  readonly onParked: (error: unknown, context: DeliveryContext, isKept: boolean) => unknown;
}

const unset = () => undefined;

/** Returns the table row of an option that the table does not check, because it is parsed later. */
const parsed = () => [undefined, () => true] as const;

/** Returns the table row of a hook that is undefined by default. JavaScript callers may also pass null. */
const optionalHook = () => [undefined, (hook: unknown) => isFunction(hook ?? unset)] as const;

/** Returns the table row of a limit that does not apply by default. */
const optionalLimit = () =>
  [
    Infinity,
    (limit: number, min: number, max: number) => limit === Infinity || isWhole(limit, min, max),
    1,
    1_000_000,
  ] as const;

/**
 * Returns the set of stores that receivers named `"default"` use. A second receiver on such a store needs a name, so
 * that it does not use the first one's records. The set is global, because ESM and CommonJS may each load a copy of the
 * core.
 */
const unnamed = (): WeakSet<DeliveryStore> =>
  ((globalThis as unknown as Record<symbol, WeakSet<DeliveryStore>>)[
    Symbol.for("svc-webhooks.unnamed")
  ] ??= new WeakSet());

const optionTable: OptionTable<Given> = {
  secret: parsed,
  on: parsed,
  scheme: () => [undefined, hasMethods("inspect", "importKey", "identify")],
  clock: () => [systemClock, hasMethods("after")],
  store: ({ clock }, store = memoryStore({ clock })) => [
    store,
    hasMethods("claim", "complete", "release", "extend", "forget"),
  ],
  name: ({ store }) => [
    store.shared || unnamed().has(store) ? "" : "default",
    (name) => typeof name === "string" && name.length <= 256,
  ],
  dedupeBy: () => ["delivery", (by) => ["delivery", "event", "body"].includes(by)],
  eventType: ({ scheme }) => [scheme?.eventType ?? firstTypeField, isFunction],
  eventId: ({ scheme }) => [scheme?.eventId ?? unset, isFunction],
  maxBodyBytes: () => [1_048_576, isWhole, 1, 104_857_600],
  bodyTimeoutMs: () => [10_000, isWhole, 1, 300_000],
  leaseMs: () => [30_000, isWhole, 10_000, 3_600_000],
  handlerTimeoutMs: ({ leaseMs, scheme }) => [
    Math.min(scheme?.handlerTimeoutMs ?? 10_000, leaseMs - 5_000),
    isWhole,
    1,
    leaseMs - 5_000,
  ],
  maxRunMs: ({ leaseMs }) => [Math.max(900_000, leaseMs), isWhole, leaseMs, longestDelayMs],
  retainMs: ({ maxRunMs, leaseMs }) => [
    Math.max(604_800_000, maxRunMs + leaseMs),
    isWhole,
    maxRunMs + leaseMs,
    31_536_000_000,
  ],
  storeTimeouts: () => [{}, isObject],
  logger: () => [console, hasMethods("info", "warn", "error")],
  log: optionalHook,
  logProcessed: () => [isDevelopment(), (value) => typeof value === "boolean"],
  onHandlerError: optionalHook,
  maxRuns: optionalLimit,
  maxConcurrent: optionalLimit,
  onParked: () => [unset, isFunction],
  around: optionalHook,
  onStoreError: () => ["refuse", (way) => ["refuse", "process"].includes(way)],
  events: () => [{}, isObject],
  onInternalError: optionalHook,
  observe: optionalHook,
};

const timeoutTable: OptionTable<Complete<StoreTimeouts>> = {
  claim: () => [1_500, isWhole, 1, 10_000],
  extend: () => [1_500, isWhole, 1, 10_000],
  release: () => [1_500, isWhole, 1, 10_000],
  complete: () => [2_000, isWhole, 1, 10_000],
};

/** Returns the names of the options, without some and with another one. */
export const optionNames = (
  without: readonly (string | undefined)[],
  other: string,
): readonly string[] =>
  [...Object.keys(optionTable), other].filter((name) => !without.includes(name));

/**
 * Validates options and applies their defaults.
 *
 * @throws ConfigError with any of its codes
 */
export function resolveOptions(options: ReceiverOptions<EventSchemas>): Config {
  const settings = readOptions(options, optionTable);
  const {
    on,
    scheme,
    clock,
    store,
    name,
    dedupeBy,
    onHandlerError,
    onParked,
    observe,
    onInternalError,
  } = settings;
  assertOption(name, "missing_name", "name");
  assertOption(dedupeBy !== "event" || settings.eventId !== unset, "missing_event_id", "eventId");
  const storeTimeouts = readOptions(settings.storeTimeouts, timeoutTable, "storeTimeouts");
  const routes = parseRoutes(on, settings);
  const isParkingSafe = settings.maxRuns === Infinity || onParked !== unset || routes.allEnqueue;
  assertOption(isParkingSafe, "missing_on_parked", "onParked");

  const write = neverThrows(
    lineWriter(name, settings.logger, settings.log),
    neverThrows(onInternalError ?? unset, unset),
  );
  const handlerKeys = Object.keys(on).filter((key) => on[key]);
  const lines = createLog(clock, write, handlerKeys, settings.logProcessed, scheme);
  const internalError = neverThrows(
    onInternalError ? (error: unknown) => onInternalError(error) : lines.internalError,
    unset,
  );
  const handlerError = neverThrows(
    (error: unknown, context: DeliveryContext) =>
      (onHandlerError ?? lines.handlerError)(error, context),
    internalError,
  );
  // If `onParked` throws, `onHandlerError` receives only that error. Without `onHandlerError`, the handler's error is
  // logged first, so that the log contains both.
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
    ...settings,
    storeTimeouts,
    onInternalError: internalError,
    onHandlerError: handlerError,
    onParked: onParked === unset ? dropped : parking,
    log: lines,
    observe: observe && neverThrows(observe, internalError),
    events: parseSchemas(settings.events),
    secret: secretReader(settings.secret, clock, scheme),
    on: routes,
  };
  if (name === "default") unnamed().add(store);
  if (scheme?.notice) write({ level: "info", code: "notice", message: scheme.notice }, 0);
  return config;
}

function firstTypeField({ type, event_type, event }: SignedBody): string | undefined {
  return [type, event_type, event].find(isFilled);
}
