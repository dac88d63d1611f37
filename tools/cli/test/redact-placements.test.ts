import { verify } from "@svc-webhooks/core";
import { service } from "@svc-webhooks/schemes/senders";
import { describe, expect, test } from "vitest";
import type { Captured } from "../src/lib/capture.js";
import { createFixtures } from "../src/redact/fixtures.js";
import { createRedactor } from "../src/redact/redactor.js";
import { visible } from "./visible.js";

/** Secrets and personal data, with the parts of them that must not be left. */
const kinds: Readonly<Record<string, readonly [value: string, ...parts: string[]]>> = {
  "an email address": ["ada.lovelace@corp-mail.io", "lovelace", "corp-mail"],
  "an address in full-width letters": ["ａｄａ＠ｃｏｒｐ．ｉｏ", "ａｄａ"],
  "an address with invisible characters": ["ad\u200ba@co\u00adrp.io", "ad\u200ba", "co\u00adrp"],
  "a full name": ["Zebulon Quux", "Zebulon", "Quux"],
  "a name in another script": ["山田 太郎", "山田", "太郎"],
  "a telephone number": ["+1 (415) 555-2671", "555-2671"],
  "a card number": ["4111 1111 1111 1111", "4111 1111"],
  "an IBAN": ["DE89-3704-0044-0532-0130-00", "3704-0044"],
  "an IPv4 address": ["203.0.113.77", "203.0.113"],
  "an IPv6 address": ["2a02:2454:8f1:aa00::1", "2a02:2454"],
  "a password": ["correct horse-battery!staple7", "horse", "staple"],
  "a password of punctuation": ["#?!$%?!!?", "?!$"],
  "a pin": ["973142", "973142"],
  "an API key": ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWD"],
  "a token of hex digits": ["0x5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8", "5baa61e4c9b93f3f"],
  "a UUID": ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3f2504e0"],
  "a JWT": ["eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl", "eyJzdWIi"],
  "a private key": ["-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----", "MIIEvQ"],
  "a connection string": ["postgres://admin:s3cret@db.internal:5432/app", "s3cret", "internal"],
  "a link with a token": ["https://shop.test/reset/hunter2?u=ada&t=Xy9", "shop", "hunter2"],
  "an assignment": ["DB_PASSWORD=abc,defgh;ijkl", "defgh", "ijkl"],
  "a cookie": ["Cookie: sid=abcdef12345", "abcdef12345"],
  "a date of birth": ["1985-12-10", "1985-12-10"],
  "a date in words": ["Dec 10, 1985", "1985"],
  "a street": ["12 Dorset Street, Marylebone", "Dorset", "Marylebone"],
  coordinates: ["51.507351,-0.127758", "51.507351", "127758"],
};

const base64 = (text: string) => Buffer.from(text).toString("base64");

type Parts = Partial<Pick<Captured, "path" | "headers">> & { readonly body?: string };

const data = (fields: unknown): Parts => ({
  body: JSON.stringify({ type: "email.sent", data: fields }),
});

/** The places of a request in which a value can be. */
const places: Readonly<Record<string, (value: string) => Parts>> = {
  "a field": (value) => data({ field: value }),
  "a field with a single word, usually": (value) => data({ status: value, reason: value }),
  "an event type": (value) => ({ body: JSON.stringify({ type: value, event: value }) }),
  "an id": (value) => data({ id: value, user_id: value }),
  "a time": (value) => data({ created_at: value, timestamp: value }),
  "lists in lists": (value) => data({ list: [[value], { x: [value] }] }),
  "a label next to its value": (value) => data([{ name: value, value }]),
  "the middle of a text": (value) => data({ x: `seen ${value}, then` }),
  "JSON in a text": (value) => data({ x: JSON.stringify({ x: value }) }),
  "JSON in JSON in a text": (value) => data({ x: JSON.stringify([JSON.stringify({ x: value })]) }),
  "JSON after a text": (value) => data({ x: `Received: ${JSON.stringify({ x: value })}` }),
  base64: (value) => data({ x: base64(value), y: `see ${base64(value)} here` }),
  "hex digits": (value) => data({ x: Buffer.from(value).toString("hex") }),
  "percent-encoding": (value) => data({ x: encodeURIComponent(value) }),
  "a parameter of a URL": (value) => data({ x: `https://x.test/a?q=${encodeURIComponent(value)}` }),
  escapes: (value) =>
    data({
      x: value.replaceAll(
        /[^]/g,
        (one) => String.raw`\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
    }),
  markup: (value) => data({ html: `<p title="${value}">${value}</p>` }),
  "the name of an entry": (value) => data({ [`${value} (1)`]: 1, [value]: { x: 0 } }),
  "a delivery header": (value) => ({ headers: [["X-SVC-Subscription-Id", `id ${value}`]] }),
  "another header": (value) => ({
    headers: [
      ["X-User", value],
      [`X-${value}`, "1"],
    ],
  }),
  "a parameter of the content type": (value) => ({
    headers: [["Content-Type", `application/json; from=${value}`]],
  }),
  "the path": (value) => ({ path: `/hooks/${value}` }),
  "the query": (value) => ({
    path: `/?${new URLSearchParams({ value, [value]: "1" }).toString()}`,
  }),
  "a form": (value) => ({
    headers: [["Content-Type", "application/x-www-form-urlencoded"]],
    body: new URLSearchParams({
      x: value,
      json: JSON.stringify([value]),
      [`${value} (1)`]: "1",
    }).toString(),
  }),
};

const textOf = ({ path, headers, body }: Captured) =>
  visible([path, JSON.stringify(headers), body.toString()].join("\n"));

const rows = Object.entries(places).flatMap(([place, put]) =>
  Object.entries(kinds).map(([kind, [value, ...parts]]) => ({
    kind,
    place,
    parts,
    put: () => put(value),
  })),
);

describe("leaves nothing of", () => {
  test("at least 295 placements", () => {
    expect(rows.length).toBeGreaterThanOrEqual(295);
  });

  test.each(rows)("$kind in $place", async ({ parts, put }) => {
    const { path = "/", headers = [["Content-Type", "application/json"]], body = "{}" } = put();
    const captured: Captured = {
      at: "2026-11-26T10:00:00.000Z",
      method: "POST",
      path,
      headers: [["X-SVC-Signature", "sha256=old"], ...headers],
      body: Buffer.from(body),
      verdict: "genuine",
    };
    const lower = parts.map((part) => part.toLowerCase());
    const before = textOf(captured);
    expect(lower.filter((part) => !before.includes(part))).toEqual([]);
    const redactor = createRedactor({ key: Buffer.alloc(32, 7) });
    const fixture = await createFixtures(service, redactor).make(captured);
    if (typeof fixture === "string") throw new Error(fixture);
    const after = textOf(fixture);
    expect(lower.filter((part) => after.includes(part))).toEqual([]);
    const signature = fixture.headers.find(([name]) => name === "X-SVC-Signature")?.[1];
    expect(await verify(fixture.body, signature, "whsec_test")).toMatchObject({ ok: true });
  });
});
