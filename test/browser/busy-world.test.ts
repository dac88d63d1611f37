import { expect, onTestFinished, test } from "vitest";
import { busyOptions, makeBusy, type BusyWorld } from "./busy-world.js";
import { takes, timedSandbox } from "./timed-sandbox.js";

const origin = "http://127.0.0.1:4010";

interface Call {
  readonly path: string;
  readonly status: number;
  readonly events: readonly {
    readonly type: string;
    readonly not_sent?: string;
    readonly deliveries: readonly {
      readonly state: string;
      readonly attempts: readonly { readonly status?: number; readonly error?: string }[];
    }[];
  }[];
}

async function open() {
  const sandbox = await timedSandbox(busyOptions);
  onTestFinished(() => sandbox.close());
  const world = await makeBusy(sandbox, origin, takes);
  const read = async (path: string) => {
    const response = await sandbox.fetch(new Request(`${origin}/_sandbox/${path}`));
    return response.json() as Promise<{ readonly data: readonly Call[] }>;
  };
  return { world, read };
}

const pathsOf = ({ failing, copied }: BusyWorld) => [
  "timeline",
  "clock",
  "endpoints",
  "domains",
  "faults",
  "assumptions",
  ...[failing, copied].flatMap((id) => [`deliveries/${id}`, `deliveries/${id}/attempts/3`]),
];

test("two busy worlds are the same, in every id, time and duration", async () => {
  const [one, other] = [await open(), await open()];
  expect(other.world).toEqual(one.world);
  for (const path of pathsOf(one.world))
    expect(await other.read(path)).toEqual(await one.read(path));
});

test("a busy world has every state that a page has to show", async () => {
  const { read } = await open();
  const { data } = await read("timeline");
  const lines = data.flatMap(({ path, status, events }) => [
    `${status} ${path.replace(/(?<=_)\w{20}/, "…")}`,
    ...events.flatMap(({ type, not_sent, deliveries }) => [
      ...(not_sent === undefined ? [] : [`  ${type}: ${not_sent}`]),
      ...deliveries.map(({ state, attempts }) => {
        const results = attempts.map((attempt) => attempt.status ?? attempt.error);
        return `  ${type}: ${results.join(" ")}, ${state}`;
      }),
    ]),
  ]);
  const copies = Array.from({ length: 20 }, () => 200).join(" ");
  expect(lines).toEqual([
    "202 /v1/emails",
    "  email.sent: refused 200, succeeded",
    "  email.delivered: refused 500 401, pending",
    "429 /v1/emails",
    "200 /v1/domains/dom_…:verify",
    "  domain.updated: type_not_subscribed",
    "202 /v1/emails",
    "  email.sent: 503 200, succeeded",
    `  email.delivered: 503 200 ${copies}, succeeded`,
    "400 /v1/emails",
    "201 /v1/webhook-endpoints",
    "200 /v1/webhook-endpoints/we_…",
    "201 /v1/webhook-endpoints",
    "201 /v1/domains",
    "201 /v1/domains",
  ]);
});

test("the planted signature is that of a body that was parsed and serialized", async () => {
  const sandbox = await timedSandbox(busyOptions);
  onTestFinished(() => sandbox.close());
  const { failing, reserialized } = await makeBusy(sandbox, origin);
  const response = await sandbox.fetch(
    new Request(`${origin}/_sandbox/deliveries/${failing}/attempts/3/explain`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ value: reserialized }),
    }),
  );
  expect(await response.json()).toMatchObject({ mistake: { id: "reserialized_json" } });
});
