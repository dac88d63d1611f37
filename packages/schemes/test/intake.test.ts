import { createIntake, memoryStore, type Scheme } from "@svc-webhooks/core";
import { gate } from "@svc-webhooks/kit/gate";
import { root } from "@svc-webhooks/kit/root";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { github, slack, standardWebhooks, stripe } from "../src/index.js";
import { senders as known } from "../src/senders.js";
import { senders, worldOf, type Headers, type Sender } from "./support.js";

/** Returns the id that an application passes to `accept`. */
function idOf({ name }: Sender, headers: Headers, body: string): string {
  const { idHeaders, idField } = known[name].form;
  const [header] = idHeaders;
  if (header) return headers[header] ?? "";
  return idField
    ? ((JSON.parse(body) as Record<string, string>)[idField] ?? "")
    : createHash("sha256").update(body).digest("hex");
}

/** A receiver of a sender, and an intake that shares its records. The first run lasts until `finish` is called. */
async function bothOf(one: Sender) {
  const { opened, open: finish } = gate();
  const runs: string[] = [];
  const handler = (way: string) => ({
    "*": () => {
      runs.push(way);
      // Two runs must end, so that the test fails.
      if (runs.length > 1) finish();
      return opened;
    },
  });
  const shared = { name: "both", store: memoryStore(), log: () => {} };
  const { receive, sign, clock } = await worldOf(one, { ...shared, on: handler("HTTP") });
  const intake = createIntake({ ...shared, clock, sources: ["sdk"], on: handler("call") });
  const body = one.body({ at: clock.now() });
  const headers = await sign(body, { at: clock.now() });
  const id = idOf(one, headers, body);
  const parsed = JSON.parse(body) as object;
  const event = Array.isArray(parsed) ? { events: parsed } : parsed;
  const call = () => intake.accept({ source: "sdk", id, type: one.type, body: event });
  return { http: () => receive(headers, body), call, runs, finish };
}

describe.each(senders)("an event of $name", (one) => {
  test.each(["http", "call"] as const)("runs once, if it arrives by %s first", async (first) => {
    const { http, call, runs, finish } = await bothOf(one);
    finish();
    const [earlier, later] = first === "http" ? [http, call] : [call, http];
    expect((await earlier()).code).toBe("processed");
    expect((await later()).code).toBe("duplicate");
    expect(runs).toHaveLength(1);
  });

  test("runs once, if it arrives by both at the same time", async () => {
    const { http, call, runs, finish } = await bothOf(one);
    const both = [http(), call()];
    await Promise.race(both);
    finish();
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(codes.toSorted()).toEqual(["in_flight", "processed"]);
    expect([(await http()).code, (await call()).code]).toEqual(["duplicate", "duplicate"]);
    expect(runs).toHaveLength(1);
  });
});

describe("docs/verified-events.md", () => {
  const schemes: Readonly<Record<string, readonly Scheme[]>> = {
    "stripe()": [stripe()],
    "github()": [github()],
    "slack()": [slack()],
    "standardWebhooks()": [standardWebhooks(), standardWebhooks({ headers: "svix" })],
  };

  /** Resolves to the place of a scheme's delivery id: the name of a header, or `body.` and that of a field. */
  async function placeOf(scheme: Scheme): Promise<string | undefined> {
    const body = new Proxy({}, { get: (_, field) => `body.${String(field)}` });
    const header = (name: string) => name;
    const request = { header, body, bytes: new Uint8Array(), claim: undefined };
    return (await scheme.identify(request)).deliveryId;
  }

  const page = readFileSync(join(root, "docs/verified-events.md"), "utf8");
  const [, table = ""] = page.split("## Which id");
  const rows = Array.from(
    table
      .split("\n## ", 1)
      .join("")
      .matchAll(/^\|(.+)\|(.+)\| *`(\w+\(\))` *\|$/gm),
    ([, library = "", id = "", scheme = ""]) => ({ library: library.trim(), id, scheme }),
  );

  test("names a library for each of these schemes", () => {
    expect(new Set(rows.map(({ scheme }) => scheme))).toEqual(new Set(Object.keys(schemes)));
  });

  test.each(rows)("has the id of $scheme for $library", async ({ id, scheme }) => {
    const [, place = ""] = /`([^`]+)`/.exec(id) ?? [];
    const places = await Promise.all((schemes[scheme] ?? []).map(placeOf));
    expect(places).toContain(place.toLowerCase().replace(/^(?:event|detail)\./, "body."));
    const sender = Object.values(known).find((one) => `${one.scheme.name}()` === scheme);
    expect(id.includes("unsigned")).toBe(sender?.signsId === false);
  });
});
