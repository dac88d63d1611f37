import type { Delivery } from "../delivery.js";
import type { Fields } from "../events.js";
import type { Handler } from "../handler.js";
import { isBytes, toBytes } from "../lib/bytes.js";
import { isPromise } from "../lib/maybe-promise.js";
import { describe, isFilled } from "../lib/text.js";
import type { ReceiveOptions, ReceiverOptions } from "../options.js";
import type { Outcome } from "../outcome.js";
import type { DeliveryState } from "../pipeline/delivery-state.js";
import { endWith, type Ending } from "../pipeline/ending.js";
import { run, runWithin } from "../pipeline/run.js";
import { assemble, type Operations } from "../receiver.js";
import { optionNames, resolveOptions, type Config } from "../setup/config.js";
import { assertOption, assertOptions } from "../texts/assert.js";
import { idHeader, intakeScheme, sourceHeader, typeHeader, unused } from "./scheme.js";

/** The parameters of one call, in place of a request. JavaScript callers may pass anything. */
interface Call {
  readonly event: unknown;
  /** The handler of a call of a guard. Undefined for an intake, whose routes have one. */
  readonly handler: Handler | undefined;
}

/** The parts of an intake and a guard. */
export interface Acceptor extends Operations {
  /** Accepts an event. Never throws; the promise never rejects. */
  readonly accept: (
    event: unknown,
    handler?: Call["handler"],
    options?: ReceiveOptions,
  ) => Promise<Outcome>;
}

const sourcePattern = /^[a-z0-9._-]{1,64}$/;

/**
 * Builds the parts that an intake and a guard share: a receiver whose first stage takes an event from a call instead of
 * verifying a request.
 *
 * @param on the routes of a guard, in place of the option
 * @throws ConfigError with the codes of `createReceiver`
 */
export function createAcceptor(options: object, on?: ReceiverOptions["on"]): Acceptor {
  assertOptions(options, optionNames(["secret", "scheme", on && "on"], "sources"));
  const { sources, handlerTimeoutMs } = options as Fields;
  assertOption(isSources(sources), "invalid_option", "sources", sources);
  // Inherits the options, because those of the application may be inherited too.
  const given: object = {
    __proto__: options,
    ...(on && { on }),
    scheme: intakeScheme(sources),
    secret: unused,
  };
  const config = resolveOptions(given as ReceiverOptions);
  const eventType: Config["eventType"] = (body, bytes, header) => {
    const type = header(typeHeader);
    // A queue may not be able to store such a type in a header, as PostgreSQL cannot store NUL.
    return /[\p{Cc}\p{Cs}]/u.test(type) ? "" : type || config.eventType(body, bytes, header);
  };
  const runs = handlerTimeoutMs === undefined ? run : runWithin;
  return assemble(
    { ...config, eventType },
    [{ name: "admit", run: admit }],
    (state) => {
      state.handler = (callOf(state).handler as Handler<unknown> | undefined) ?? state.handler;
      return runs(state);
    },
    (start) => ({
      accept: (event, handler, callOptions) =>
        // Only `callOf` reads this delivery.
        Promise.resolve(
          start({ event, handler } satisfies Call as unknown as Delivery, callOptions),
        ),
    }),
  );
}

const isSources = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length < 21 &&
  value.some(isFilled) &&
  value.every((source) => isFilled(source) && sourcePattern.test(source));

/** Returns the parameters of the call that `accept` passed to `start`. */
const callOf = ({ delivery }: DeliveryState): Call => delivery as unknown as Call;

/** Stage 1: takes the event from the call. It replaces reading a request and verifying it. */
const admit = (state: DeliveryState): Ending | undefined => state.limit() ?? takeEvent(state);

function takeEvent(state: DeliveryState): Ending | undefined {
  const { event, handler } = callOf(state);
  // With `dedupeBy: "body"`, all events without a body would be copies of each other.
  const noBody = handler && state.config.dedupeBy !== "body" && {};
  const { source, id, type = handler && "event", body = noBody } = Object(event) as Fields;
  // Nothing awaits a promise in place of a value, and an unhandled rejection would end the process.
  for (const value of [event, body]) if (isPromise(value)) value.then(undefined, () => {});
  let bytes: Uint8Array;
  try {
    bytes = bytesOf(body);
  } catch (error) {
    return endWith("body_unavailable", describe(error));
  }
  if (bytes.length > state.config.maxBodyBytes) return endWith("body_too_large");
  const headers: Readonly<Record<string, unknown>> = {
    [sourceHeader]: source,
    [idHeader]: id,
    // A type that is not text must not be replaced by that of the body, so it is one that is refused.
    [typeHeader]: type === undefined || isFilled(type) ? type : "\0",
  };
  // A value that is not text counts as absent, because different objects may have the same text.
  state.header = (name) => (isFilled(headers[name]) ? headers[name] : "");
  state.bytes = bytes;
  state.context.bodyBytes = bytes.length;
  return state.accept();
}

/**
 * Returns the body as bytes. An object is converted before its first run, so that this run, a run from a queue and a
 * resumed run receive the same value.
 */
function bytesOf(body: unknown): Uint8Array {
  if (isBytes(body)) return body;
  const json = typeof body === "string" ? body : (JSON.stringify(body) as string | undefined);
  // The JSON of a promise, a Map, a request or an ArrayBuffer is `{}`, so the event would be lost.
  const isLost =
    isPromise(body) || (json === "{}" && json !== body && (body as object).constructor !== Object);
  const bytes = isLost ? undefined : toBytes(json ?? "");
  if (!bytes) throw new TypeError("the body has no JSON");
  return bytes;
}
