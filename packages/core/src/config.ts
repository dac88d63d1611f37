import { check, checkNoRest, checkRange } from "./check.js";
import { systemClock } from "./clock.js";
import type { EventSchemas } from "./events.js";
import type { DeliveryContext } from "./handler.js";
import { isolated } from "./isolated.js";
import { memoryStore } from "./memory-store.js";
import type { CommonOptions, ReceiverOptions, SignedBody, StoreTimeouts } from "./options.js";
import { readRoutes, type Routes } from "./routes.js";
import { readSchemas, type Schemas } from "./schemas.js";
import { secretReader, type SecretReader } from "./secrets.js";
import type { DeliveryStore } from "./store.js";
import { describe, describeFully, isFilled, linePrinter, logLine, type PrintLine } from "./text.js";

type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/**
 * The options of one receiver, checked and complete, each under its own name. `observe`,
 * `printLine`, `onHandlerError` and `onInternalError` never throw.
 */
export interface Config extends Complete<Omit<CommonOptions, "secret" | "observe" | "log">> {
  readonly secret: SecretReader;
  readonly on: Routes;
  readonly events: Schemas;
  readonly storeTimeouts: Complete<StoreTimeouts>;
  readonly observe: CommonOptions["observe"];
  readonly printLine: PrintLine;
}

const unset = () => undefined;

/** Stores of receivers without a name: a second one would take the first one's records for its own. */
const unnamed = new WeakSet<DeliveryStore>();

/** @throws ReceiverConfigError every code of it */
export function readOptions({
  secret,
  on,
  clock = systemClock,
  store = memoryStore({ clock }),
  name = store?.shared || unnamed.has(store) ? "" : "default",
  dedupeBy = "delivery",
  eventType = firstTypeField,
  eventId = unset,
  maxBodyBytes = 1_048_576,
  bodyTimeoutMs = 10_000,
  leaseMs = 30_000,
  handlerTimeoutMs = Math.min(10_000, leaseMs - 5_000),
  maxRunMs = Math.max(900_000, leaseMs),
  retainMs = Math.max(604_800_000, maxRunMs + leaseMs),
  storeTimeouts: {
    claim = 1_500,
    extend = 1_500,
    release = 1_500,
    complete = 2_000,
    ...otherTimeouts
  } = {},
  log = (line: string) => console.error(line),
  onHandlerError = printHandlerError,
  maxRuns = Infinity,
  onParked = unset,
  onStoreError = "refuse",
  events = {},
  onInternalError,
  observe,
  ...otherOptions
}: ReceiverOptions<EventSchemas>): Config {
  checkNoRest({ ...otherOptions, ...otherTimeouts });

  const hooks = {
    eventType,
    eventId,
    log,
    onHandlerError,
    onParked,
    observe: observe ?? unset,
    onInternalError: onInternalError ?? unset,
  };
  for (const [option, hook] of Object.entries(hooks)) {
    check(typeof hook === "function", option, "a function");
  }
  check(typeof store?.claim === "function", "store", "a DeliveryStore");
  check(
    isFilled(name) && name.length <= 256,
    "name",
    "1 to 256 characters, given with a shared store",
    name === "" ? "missing_name" : "invalid_option",
  );
  check(/^(delivery|event|body)$/.test(dedupeBy), "dedupeBy", "delivery, event or body");
  check(
    dedupeBy !== "event" || eventId !== unset,
    "eventId",
    "given with dedupeBy event",
    "missing_event_id",
  );

  check(/^(refuse|process)$/.test(onStoreError), "onStoreError", "refuse or process");
  check(
    maxRuns === Infinity || onParked !== unset,
    "onParked",
    "given with maxRuns",
    "missing_on_parked",
  );
  const storeTimeouts = { claim, extend, release, complete };
  checkRange({ maxBodyBytes }, 1, 104_857_600);
  checkRange({ bodyTimeoutMs }, 1, 300_000);
  checkRange({ leaseMs }, 10_000, 3_600_000);
  checkRange({ handlerTimeoutMs }, 1, leaseMs - 5_000);
  // Beyond 2^31 - 1 timers fire at once.
  checkRange({ maxRunMs }, leaseMs, 2_147_483_647);
  checkRange({ retainMs }, maxRunMs + leaseMs, 31_536_000_000);
  checkRange(storeTimeouts, 1, 10_000);
  if (maxRuns !== Infinity) checkRange({ maxRuns }, 1, 1_000_000);

  const printLine = linePrinter(clock, isolated(log, isolated(onInternalError ?? unset, unset)));
  const printInternal = (error: unknown) => {
    const message = describe(error);
    printLine(message, "internal error", message);
  };
  const internalError = isolated(onInternalError ?? printInternal, unset);
  const handlerError = isolated(onHandlerError, internalError);
  const config = {
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
    maxRuns,
    storeTimeouts,
    onStoreError,
    onInternalError: internalError,
    onHandlerError: handlerError,
    onParked: onParked === unset ? handlerError : onParked,
    printLine,
    observe: observe && isolated(observe, internalError),
    events: readSchemas(events),
    secret: secretReader(secret, clock),
    on: readRoutes(on),
  };
  if (name === "default") unnamed.add(store);
  return config;
}

function firstTypeField({ type, event_type, event }: SignedBody): string | undefined {
  return [type, event_type, event].find(isFilled);
}

function printHandlerError(error: unknown, context: DeliveryContext): void {
  console.error(`${logLine("handler_failed", context)}${describeFully(error)}`);
}
