import { isBytes } from "../lib/bytes.js";
import { isObject } from "../lib/is-object.js";
import { isPromise } from "../lib/maybe-promise.js";
import { nearest } from "../lib/nearest.js";
import { isFilled } from "../lib/text.js";
import { earliestExpiryMs } from "../lib/times.js";
import type { Secret } from "../secrets.js";
import { lineTexts } from "./outcome-texts.js";
import { schemeTexts } from "./scheme-texts.js";
import type { Advise, Explain, IsApiKey, IsDevelopment, OwnTexts, Suggest } from "./texts.js";

const unset = "The environment variable is not set in this process. Set it.";
const absentInBuild =
  ' If it is missing only at build time, pass a function: secret: () => process.env.SVC_WEBHOOK_SECRET ?? "".';

/** The fixes by code or option; `events[]` stands for any member of `events`. */
const fixes: Readonly<Record<string, string>> = {
  missing_name:
    'It separates the records of different receivers in one store. Give this receiver its own name, such as name: "billing".',
  missing_event_id:
    '`dedupeBy: "event"` requires it. Add a function that returns the signed id, such as eventId: (body) => body.event_id.',
  missing_on_parked:
    "`maxRuns` requires it, because events that reach the limit would be lost. Add onParked: (error, context) => ... to store them, or remove maxRuns.",
  options: "Pass an options object.",
  logger: "Pass an object with the methods info, warn and error, such as pino().",
  scheme: "Call the scheme's function and pass its result, such as stripe().",
  storeTimeouts: "Pass an object, such as { claim: 1_500 }.",
  retry: "Pass an options object.",
  query: "Pass an options object.",
  sources:
    'Name 1 to 20 channels of a sender, each with 1 to 64 of a-z, 0-9, ".", "_" and "-", such as sources: ["stripe-sdk"].',
  on: 'Add at least one handler, such as on: { "*": (event) => ... }.',
  store: "Pass memoryStore(), redisStore(client) or another DeliveryStore.",
  clock: "Omit it, or pass an object with now, monotonic and after.",
  events: "Pass an object that maps event types to schemas.",
  "events[]": "Pass a Standard Schema, such as one from zod, valibot or arktype.",
  logProcessed: "Pass true or false.",
  name: "Pass 1 to 256 characters.",
  dedupeBy: 'Pass "delivery", "event" or "body".',
  onStoreError: 'Pass "refuse" or "process".',
  deliveryId: "Pass the delivery id as text.",
  body: "Pass the exact bytes that were received.",
  "store.peek": "Update the store's package, or add `peek` to your own store.",
  "store.peek()":
    "It must return one state for each key. Update the store's package, or fix your own store.",
  targets: 'Pass a list, such as [{ deliveryId: "..." }].',
  retryAfterMs: "Pass a number of milliseconds, such as new RetryError({ retryAfterMs: 60_000 }).",
  receiver:
    "Pass the receiver that createReceiver() returns: webhooks(createReceiver({ secret, on })).",
};

const ofKeys =
  "A receiver verifies requests with keys, while an intake or a guard accepts events from `sources` that your own code has verified.";

/** The problems of objects that were passed as options, by option. */
const ofObject: Readonly<Record<string, string>> = {
  on: "has no handlers",
  "store.peek()": "is not a list of states",
  sources: "is not a list of names",
  scheme: "lacks one of the functions inspect, importKey and identify",
};

export { intakeRisk, intakeTexts } from "./intake-texts.js";

export const explain: Explain = (code, option, value, min, max) => {
  const start = option.lastIndexOf(".") + 1;
  const named = `\`${option}\``;
  if (code === "unknown_option") {
    const names = value as readonly string[];
    const [isIntake, isOfIntake] = [names.includes("sources"), option === "sources"];
    if (isOfIntake) return `${named} is an option of createIntake() and createGuard(). ${ofKeys}`;
    if (isIntake && option === "on") {
      return "`on` is an option of createIntake(). A guard runs the handler that you pass to `run`.";
    }
    if (isIntake && /^(secret|scheme)$/.test(option)) {
      return `${named} is an option of createReceiver(). ${ofKeys}`;
    }
    const near = nearest(option.slice(start), names);
    const all = names.length > 0 ? `The options are ${names.join(", ")}.` : "There are no options.";
    const fix = near ? `Did you mean \`${option.slice(0, start)}${near}\`?` : all;
    return `${named} is not an option. ${fix}`;
  }
  if (code === "invalid_secret") {
    const problem = isReadList(value) ? listProblem(value) : keyProblem(value);
    const fix = problem.endsWith(unset) && !option.startsWith("secret()") ? absentInBuild : "";
    return `${named} ${problem}${fix}`;
  }
  if (max !== undefined && option === "events") {
    return `${named} must be a list, or another iterable that is not async, of at most ${max} events. Raise \`maxEvents\`, or accept a long list in parts.`;
  }
  if (max !== undefined) {
    const lease = Number(value) + 5_000;
    const fix =
      option === "handlerTimeoutMs" && lease > max && lease <= 3_600_000
        ? ` For ${String(value)}, raise \`leaseMs\` to ${lease}.`
        : "";
    const shown = typeof value === "number" ? value : kindOf(value);
    return `${named} is ${shown}, but must be an integer from ${min} to ${max}.${fix}`;
  }
  if (option.startsWith("on[") && typeof value === "function") {
    const prefix = option.slice(4, -2).replace(/\.?\*.*/, "");
    const fix = `Write ${prefix ? `"${prefix}" or "${prefix}.*"` : 'a type, "prefix.*" or "*"'}.`;
    return `${named} matches no event. ${fix}`;
  }
  const fix = fixes[code] ?? fixes[option.replace(/\[.*/, "[]")] ?? "Pass a function.";
  if (code.startsWith("missing")) return `${named} is missing. ${fix}`;
  if (option === "receiver" && isObject(value) && ("accept" in value || "run" in value)) {
    return "An intake or a guard verifies nothing, so it cannot be mounted. Verify the request in your own route, and then call `accept` or `run`.";
  }
  const own = isObject(value) ? ofObject[option] : undefined;
  return `${named} ${own ?? `is ${kindOf(value)}`}. ${fix}`;
};

export const advise: Advise = (code, scheme) => {
  if (code === "never_verified")
    return "This receiver has not verified any delivery yet, so its configuration is probably wrong.";
  const texts: Partial<Record<typeof code, readonly string[]>> = {
    ...lineTexts,
    ...(scheme && ((scheme as OwnTexts).texts ?? schemeTexts(scheme))),
  };
  return texts[code]?.join(" ") ?? "";
};

export const suggest: Suggest = (type, keys) => {
  // At most a fifth of the characters may differ. Types share prefixes: with a third, `email.opened` would suggest
  // `email.sent`.
  const near = nearest(type, keys, 1 / 5);
  return near ? `Did you mean ${JSON.stringify(near)}?` : "";
};

/** The members of Node's `process` that this file reads. Other platforms that use these texts may lack them. */
const { process: host } = globalThis as {
  readonly process?: {
    readonly stdout?: { readonly isTTY?: boolean };
    readonly env?: Readonly<Record<string, string | undefined>>;
  };
};

export const isDevelopment: IsDevelopment = () =>
  host?.stdout?.isTTY === true && host.env?.["NODE_ENV"] !== "production";

export const isApiKey: IsApiKey = (text) => text === host?.env?.["SVC_API_KEY"];

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value === "") return "empty";
  if (typeof value !== "object") return `a ${typeof value}`;
  if (isPromise(value)) return "a promise, which must be awaited";
  // This is checked before the case of options, because Node's requests have an `on` too.
  if ("headers" in value || "req" in value) return "a request: `webhooks` itself was mounted";
  if ("secret" in value || "on" in value) return "an options object";
  // `@svc-webhooks/client` returns secrets in such an object.
  if ("reveal" in value) return "masked: reveal() returns its text";
  return Array.isArray(value) ? "an array" : "an object without the required members";
}

/** The problems of a key that is text; the first pattern that matches applies. */
const keyProblems: readonly (readonly [RegExp, string])[] = [
  [/^\s|\s$/, "has a line break or white space around it. Remove it, for example with trim()."],
  [/^["'`]|["'`]$/, "starts or ends with a quote, probably from an env file. Remove it there."],
  [
    /^(whsec_)?(undefined|null|nan|\[object \w+\])$/i,
    `is the text of a missing value, such as "undefined". ${unset}`,
  ],
  [/^whsec_$/, "is only the prefix `whsec_`. Copy the whole secret."],
  [/[\n\r\u2028\u2029]/, "contains a line break. Copy only one secret."],
  [/\p{Cs}/u, "contains an unpaired surrogate. Pass the key's bytes."],
  [
    /^(whsec_)?[$%{]|=whsec_/,
    "contains the name of a variable that was not expanded. Pass only the variable's value.",
  ],
  [
    /(?:)/,
    "is a placeholder or an abbreviated secret. Copy the whole secret that the service returned.",
  ],
];

function keyProblem(key: unknown): string {
  if (!isFilled(key)) {
    if (isBytes(key))
      return "is empty or all zeros, as if it had been wiped. Pass the key's bytes.";
    const hint = key === undefined || key === null || key === "" ? unset : "Pass text or bytes.";
    return `is ${kindOf(key)}. ${hint}`;
  }
  if (isApiKey(key)) {
    return "is the API key of this process, SVC_API_KEY. Pass the endpoint's signing secret, which begins with whsec_.";
  }
  return keyProblems.find(([pattern]) => pattern.test(key))?.[1] ?? "";
}

type ReadSecret = Secret & { readonly bytes: Uint8Array };

/** Returns whether `value` is a list of parsed keys. A list that was passed in place of one key does not count. */
const isReadList = (value: unknown): value is readonly ReadSecret[] =>
  Array.isArray(value) && value.every((secret) => isObject(secret) && "bytes" in secret);

function listProblem(list: readonly ReadSecret[]): string {
  const has = (count: (secret: ReadSecret) => unknown) =>
    new Set(list.map(count)).size < list.length;
  if (list.length === 0) return `is an empty array. ${unset}`;
  if (list.length > 10) return "has more than 10 keys. Remove the oldest.";
  if (!list.every(({ id }) => isFilled(id))) return "has a key without an id. Pass { id, key }.";
  if (has(({ id }) => id)) return "has two keys with the same id. Rename one.";
  if (has(({ bytes }) => bytes.join())) return "contains the same key twice. Remove one.";
  if (!list.every(({ expiresAt }) => Number(expiresAt) > earliestExpiryMs)) {
    return "has an expiresAt that is neither a Date nor epoch milliseconds; it may be in seconds.";
  }
  return "contains only expired keys. Add the current key.";
}
