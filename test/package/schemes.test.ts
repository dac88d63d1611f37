import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, type Outcome } from "@svc-webhooks/core";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { fakeClock } from "@svc-webhooks/testing";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { samples } from "./scheme-samples.js";

const clock = fakeClock();

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A scheme's sample with keys. */
interface Probe {
  /** Signs the sample's event as its sender would have signed it `ageMs` ago. */
  readonly signed: (ageMs?: number) => Promise<Request>;
  /** Resolves to the outcome of a request in a new receiver. */
  readonly receive: (request: Request) => Promise<Outcome>;
}

async function probeOf(name: SenderName): Promise<Probe> {
  const { scheme, event, type } = samples[name];
  const { secret, signingSecret } = await senders[name].testKeys();
  return {
    async signed(ageMs = 0) {
      const at = clock.now() - ageMs;
      const body = JSON.stringify(event(at));
      const signing = { secret: signingSecret, at, deliveryId: "d-1", type };
      return { headers: await senders[name].sign(body, signing), body };
    },
    receive: ({ headers, body }) =>
      createReceiver({ scheme, secret, clock, on: { "*": () => {} }, log: () => {} }).receive({
        method: "POST",
        headers,
        body: Buffer.from(body),
      }),
  };
}

/** Returns the path of a text in a JSON value, such as `event.type`. */
function pathOf(value: unknown, text: string): string | undefined {
  for (const [key, field] of Object.entries(value ?? {})) {
    if (field === text) return key;
    const below = typeof field === "object" ? pathOf(field, text) : undefined;
    if (below) return `${key}.${below}`;
  }
  return undefined;
}

/** Describes where a request has a text, and whether it is signed there. */
async function sourceOf(probe: Probe, request: Request, text: string): Promise<string> {
  const { headers, body } = request;
  if (text === createHash("sha256").update(body).digest("hex")) return "SHA-256 of the body";
  const path = pathOf(JSON.parse(body), text);
  if (path) return `body \`${path}\``;
  const name = Object.keys(headers).find((one) => headers[one] === text);
  if (name) {
    const { code } = await probe.receive({ headers: { ...headers, [name]: `${text}x` }, body });
    return `\`${name}\`${code === "signature_mismatch" ? "" : " (**unsigned**)"}`;
  }
  const [first = "", ...rest] = text.split(".");
  if (rest.length === 0) return `always \`${text}\``;
  const parts = [first, rest.join(".")].map((part) => sourceOf(probe, request, part));
  return (await Promise.all(parts)).join(" and ");
}

/** Resolves to the greatest age in seconds that is not stale, or undefined if every age is accepted. */
async function oldestSeconds({ signed, receive }: Probe): Promise<number | undefined> {
  const isStale = async (seconds: number) =>
    (await receive(await signed(seconds * 1_000))).code === "signature_stale";
  let [accepted, refused] = [0, 2 ** 20];
  if (!(await isStale(refused))) return undefined;
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2);
    if (await isStale(middle)) refused = middle;
    else accepted = middle;
  }
  return accepted;
}

const names = Object.keys(samples) as SenderName[];
const milliseconds = (value: number) => value.toLocaleString("en");

async function rowOf(name: SenderName): Promise<readonly string[]> {
  const { call, scheme } = samples[name];
  const probe = await probeOf(name);
  const request = await probe.signed();
  const { deliveryId, eventId, type } = await probe.receive(request);
  const source = (text: string | undefined) =>
    text === undefined ? "none" : sourceOf(probe, request, text);
  const seconds = await oldestSeconds(probe);
  return [
    `\`${call}\``,
    await source(deliveryId),
    await source(eventId),
    await source(type),
    seconds === undefined ? "**none**" : "signed",
    seconds === undefined ? "" : milliseconds(seconds * 1_000),
    milliseconds(scheme.handlerTimeoutMs ?? 10_000),
  ];
}

const heads = ["scheme", "delivery id", "event id", "type", "time", "`toleranceMs`"];
const head = [...heads, "`handlerTimeoutMs`"];
const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;

test("docs/senders/README.md has what each scheme signs (npx vitest run test/package/schemes.test.ts -u writes it)", async () => {
  const file = join(root, "docs/senders/README.md");
  const rows = await Promise.all(names.map(rowOf));
  const table = [head, head.map(() => "---"), ...rows].map(line).join("");
  const written = readFileSync(file, "utf8").replace(
    /(?<=\n## What is signed\n[^|]*)(?:\|.*\n)+/,
    () => table,
  );
  const options = await resolveConfig(file);
  await expect(await format(written, { ...options, filepath: file })).toMatchFileSnapshot(file);
});

test.each(names)("%s processes its sample, and refuses a changed body", async (name) => {
  const { signed, receive } = await probeOf(name);
  const { headers, body } = await signed();
  expect(await receive({ headers, body })).toMatchObject({ code: "processed" });
  expect(await receive({ headers, body: `${body} ` })).toMatchObject({
    code: "signature_mismatch",
  });
});
