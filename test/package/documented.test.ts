import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createReceiver,
  memoryStore,
  type DeliveryStore,
  type HandlerResult,
  type StoreTimeouts,
} from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import type { FakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { root } from "@svc-webhooks/kit/programs";
import { observedReceiver, timedStore } from "@svc-webhooks/kit/receivers";
import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { declarationsOf } from "./declarations.js";

const page = "packages/core/README.md";
const core = declarationsOf("@svc-webhooks/core");

/** The rows of the options table. A row that names members of an option counts as several. */
const options = tableOf(page, "option").flatMap((row) => {
  const [option = ""] = codeIn(row["option"] ?? "");
  const members = codeIn(row["meaning"] ?? "").filter((code) => code.startsWith("."));
  const [parent] = option.split(".");
  return [option, ...members.map((member) => `${parent}${member}`)].map((name) => ({
    name,
    default: row["default"] ?? "",
    range: row["range"] ?? "",
    codes: codeIn(row["error `code`"] ?? ""),
  }));
});

/** Parses `1,048,576`, and `365 d` as milliseconds. */
function numberIn(text: string): number | undefined {
  const [number] = /^\d{1,3}(?:,\d{3})*/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return Number(number.replaceAll(",", "")) * (text.endsWith(" d") ? 86_400_000 : 1);
}

const defaults = options.flatMap((option) => {
  const number = numberIn(option.default);
  return number === undefined ? [] : [{ name: option.name, number }];
});

const defaultOf = (name: string) => defaults.find((one) => one.name === name)?.number;

/** Returns the value of `` `maxRunMs` + `leaseMs` `` if no option is set. */
const limitIn = (text: string): number =>
  text
    .split(/ (?=[+−])/)
    .map((part) => {
      const [option] = codeIn(part);
      const size = option === undefined ? numberIn(part.replace(/^[+−] /, "")) : defaultOf(option);
      return part.startsWith("−") ? -Number(size) : Number(size);
    })
    .reduce((total, part) => total + part);

const ranges = options
  .filter(({ range }) => range.includes(" … "))
  .map(({ name, range, codes }) => {
    const characters = range.endsWith(" characters");
    const [min = "", max = ""] = range.replace(" characters", "").split(" … ");
    const valueOf = (size: number) => (characters ? "n".repeat(size) : size);
    return { name, range, codes, min: limitIn(min), max: limitIn(max), valueOf };
  });

const set = (name: string, value: unknown): object => {
  const [option = "", member] = name.split(".");
  return { [option]: member === undefined ? value : { [member]: value } };
};

/** Returns the code of the error that `createReceiver` throws, or undefined if it returns. */
function refusal(given: object): string | undefined {
  try {
    createReceiver({ secret: "whsec_test", on: { "*": () => {} }, onParked: () => {}, ...given });
    return undefined;
  } catch (error) {
    return codeOf(error) ?? String(error);
  }
}

test("the options table lists the members of ReceiverOptions", () => {
  const declared = core
    .propertiesOf("ReceiverOptions")
    .flatMap((name) =>
      name === "storeTimeouts"
        ? core.propertiesOf("StoreTimeouts").map((member) => `${name}.${member}`)
        : [name],
    );
  expect(options.map(({ name }) => name).toSorted()).toEqual(declared.toSorted());
});

test.each([
  { entry: "@svc-webhooks/redis", type: "RedisStoreOptions" },
  { entry: "@svc-webhooks/postgres", type: "PostgresStoreOptions" },
  { entry: "@svc-webhooks/sqlite", type: "SqliteStoreOptions" },
  {
    entry: "@svc-webhooks/sqlite",
    type: "SqliteInboxOptions",
    head: "option of the inbox",
  },
  { entry: "@svc-webhooks/cloudflare", type: "DurableObjectStoreOptions" },
  {
    entry: "@svc-webhooks/cloudflare/queues",
    type: "QueuesConsumerOptions",
    head: "option of the consumer",
  },
  { entry: "@svc-webhooks/testing", type: "SignedRequestOptions" },
  {
    entry: "@svc-webhooks/testing",
    type: "SchemeRequestOptions",
    head: "option of a sender",
  },
  {
    entry: "@svc-webhooks/testing/inbox",
    type: "MemoryInboxOptions",
    head: "option of the inbox",
  },
  {
    entry: "@svc-webhooks/testing/inbox",
    type: "InboxContractOptions",
    head: "option of the contract",
  },
])("the options table of $entry lists the members of $type", ({ entry, type, head = "option" }) => {
  const { folder = "" } = publicPackages.find(({ entries }) => entries.includes(entry)) ?? {};
  const rows = tableOf(`${folder}/README.md`, head);
  const names = rows.flatMap((row) => codeIn(row[head] ?? ""));
  expect(names.toSorted()).toEqual(declarationsOf(entry).propertiesOf(type).toSorted());
});

test.each(options)("createReceiver accepts $name and rejects a misspelling of it", ({ name }) => {
  expect(refusal(set(name, undefined))).not.toBe("unknown_option");
  expect(refusal(set(`${name}_`, undefined))).toBe("unknown_option");
});

describe("both limits of a documented range are accepted, and no value beyond them", () => {
  test.each(ranges)("$name: $range", ({ name, codes, min, max, valueOf }) => {
    expect(refusal(set(name, valueOf(min)))).toBeUndefined();
    expect(refusal(set(name, valueOf(max)))).toBeUndefined();
    expect(codes).toContain(refusal(set(name, valueOf(min - 1))));
    expect(codes).toContain(refusal(set(name, valueOf(max + 1))));
  });

  const words = options.filter(({ range }) => /^`"\w+"/.test(range));
  test.each(words)("$name: $range", ({ name, range }) => {
    const allowed = codeIn(range).join(" ").match(/\w+/g) ?? [];
    for (const word of allowed) {
      expect(refusal({ ...set(name, word), eventId: () => "evt_1" })).toBeUndefined();
    }
    expect(refusal(set(name, allowed.join("")))).toBe("invalid_option");
  });
});

describe("a wrong value is rejected with each documented code", () => {
  const provoking: Readonly<Record<string, (option: string) => object>> = {
    invalid_secret: (option) => set(option, true),
    invalid_handler: (option) => set(option, true),
    invalid_option: (option) => set(option, option === "logProcessed" ? "yes" : true),
    unknown_option: (option) =>
      option === "secret"
        ? { secret: [{ id: "a", key: "whsec_test", expires: 5 }] }
        : set(`${option}_`, 5),
    missing_name: () => ({ store: { ...memoryStore(), shared: true } }),
    missing_event_id: () => ({ dedupeBy: "event" }),
    missing_on_parked: () => ({ maxRuns: 3, onParked: undefined }),
  };

  test.each(options)("$name: $codes", ({ name, codes }) => {
    expect(codes.map((code) => refusal(provoking[code]?.(name) ?? {}))).toEqual(codes);
  });

  test("every code of ConfigErrorCode is documented", () => {
    const documented = new Set(options.flatMap(({ codes }) => codes));
    expect([...documented].toSorted()).toEqual(core.literalsOf("ConfigErrorCode").toSorted());
  });
});

test("the page of configuration errors has a section for each code", () => {
  const text = readFileSync(join(root, "docs/configuration-errors.md"), "utf8");
  const sections = Array.from(text.matchAll(/^## `(.+)`$/gm), ([, code = ""]) => code);
  expect(sections.toSorted()).toEqual(core.literalsOf("ConfigErrorCode").toSorted());
});

const never = () => new Promise<never>(() => {});

/**
 * Returns a receiver with only these options, on a clock that stands still. `faults` replaces calls of its
 * store.
 */
function observed(faults: Partial<DeliveryStore> = {}, handler: () => HandlerResult = () => {}) {
  const { clock, store } = timedStore();
  const on = { "*": handler };
  return {
    clock,
    ...observedReceiver({ clock, store: { ...store, ...faults }, name: undefined, on }),
  };
}

/** Checks that the event happens exactly `ms` from now. */
async function happensAfter(ms: number, clock: FakeClock, event: Promise<unknown>): Promise<void> {
  let happened = false;
  void event.then(() => (happened = true));
  await clock.advance(ms - 1);
  expect(happened).toBe(false);
  await clock.advance(1);
  expect(happened).toBe(true);
}

/** Checks the deadline of a store call that never settles and starts `afterMs` after the delivery. */
const deadlineOf =
  (operation: keyof StoreTimeouts, handler?: () => HandlerResult, afterMs = 0) =>
  async (ms: number): Promise<void> => {
    const aborted = gate<unknown>();
    const hang = (...given: readonly unknown[]) => {
      const { signal } = given.at(-1) as { readonly signal: AbortSignal };
      signal.addEventListener("abort", aborted.open);
      return never();
    };
    const { clock, receive } = observed({ [operation]: hang }, handler);
    void receive();
    await clock.advance(afterMs);
    await happensAfter(ms, clock, aborted.opened);
  };

/** Checks a duration that a claim passes to the store. */
const claimedWith = (duration: "leaseMs" | "retainMs") => async (ms: number) => {
  const requests: unknown[] = [];
  const claim: DeliveryStore["claim"] = (key, request, call) => {
    requests.push(request);
    return memoryStore().claim(key, request, call);
  };
  await observed({ claim }).receive();
  expect(requests).toMatchObject([{ [duration]: ms }]);
};

/** Functions that check the documented default of each option by the receiver's behavior. */
const effects: Readonly<Record<string, (documented: number) => Promise<void>>> = {
  async maxBodyBytes(bytes) {
    const body = eventBody().padEnd(bytes);
    const codes = await observed().receiveAll(signed(body), signed(`${body} `));
    expect(codes).toEqual(["processed", "body_too_large"]);
  },
  async bodyTimeoutMs(ms) {
    const { clock, receive } = observed();
    await happensAfter(ms, clock, receive({ ...(await signed()), body: never }));
  },
  async handlerTimeoutMs(ms) {
    const { clock, receive } = observed({}, never);
    await happensAfter(ms, clock, receive());
  },
  leaseMs: claimedWith("leaseMs"),
  retainMs: claimedWith("retainMs"),
  async maxRunMs(ms) {
    const least = ms + (defaultOf("leaseMs") ?? 0);
    expect(refusal({ retainMs: least })).toBeUndefined();
    expect(refusal({ retainMs: least - 1 })).toBe("invalid_option");
  },
  "storeTimeouts.claim": deadlineOf("claim"),
  "storeTimeouts.complete": deadlineOf("complete"),
  "storeTimeouts.release": deadlineOf("release", () => Promise.reject(new Error("no"))),
  "storeTimeouts.extend": deadlineOf("extend", never, 10_000),
};

describe("an option that is not set has its documented default", () => {
  test.each(defaults)("$name: $number", async ({ name, number }) => {
    expect(effects).toHaveProperty([name]);
    await effects[name]?.(number);
  });

  const quoted = Object.fromEntries(
    options.map((option) => [option.name, /^`"(\w+)"`$/.exec(option.default)?.[1]]),
  );

  test("name", async () => {
    const { receive, reports } = observed();
    await receive();
    expect(reports).toMatchObject([{ receiver: quoted["name"] }]);
  });

  test("dedupeBy", async () => {
    const codes = await observed().receiveAll(signed(), signed(eventBody("email.opened")));
    expect(codes).toEqual(["processed", "duplicate"]);
    expect(quoted["dedupeBy"]).toBe("delivery");
  });

  test("onStoreError", async () => {
    const claim = () => Promise.reject(new Error("down"));
    expect(await observed({ claim }).receiveAll(signed())).toEqual(["store_unavailable"]);
    expect(quoted["onStoreError"]).toBe("refuse");
  });
});

test("the context table lists the members of DeliveryContext", () => {
  const rows = tableOf(page, "in `context`");
  const names = rows.flatMap((row) => codeIn(row["in `context`"] ?? ""));
  expect(names.toSorted()).toEqual(core.propertiesOf("DeliveryContext").toSorted());
});

test("the list of warnings names the members of Warning", () => {
  const text = readFileSync(join(root, page), "utf8");
  const [list = ""] = /these warnings:\n\n(?:- .*\n)+/.exec(text) ?? [];
  const named = Array.from(list.matchAll(/^- `(\w+)`/gm), ([, code = ""]) => code);
  expect(named.toSorted()).toEqual(core.literalsOf("Warning").toSorted());
});
