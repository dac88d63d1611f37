import { createHmac } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, type SignedBody } from "@svc-webhooks/core";
import { hmac, type HmacOptions } from "@svc-webhooks/schemes";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { describe, expect, test } from "vitest";
import { samples } from "./scheme-samples.js";

/** The facts about one sender, with the date on which they were compared with its pages. */
interface Sender {
  readonly sender: string;
  /** The part of the sender that the scheme covers. Default: the sender. */
  readonly covers?: string;
  /** The call that creates the scheme, or `hmac`. */
  readonly scheme: string;
  readonly header?: string;
  /** The options of `hmac` that are data. */
  readonly options?: Pick<
    HmacOptions,
    "header" | "prefix" | "separator" | "encoding" | "timestamp" | "list"
  >;
  /** The text that is signed before the body, with `{time}` in it. */
  readonly before?: string;
  readonly encoding?: string;
  readonly key: string;
  /** `header <name>`, `body <path>`, or null for the SHA-256 of the body. */
  readonly id: string | null;
  /** As `id`, or `always <type>`. */
  readonly type?: string;
  readonly signature?: string;
  readonly success?: string;
  readonly retries?: string;
  readonly note?: string;
  /** A request before the sender signs, or that it signs with a key that the receiver does not have yet. */
  readonly firstRequest?: {
    readonly method: string;
    readonly contentType?: string;
    readonly body?: string;
    readonly request: string;
    readonly response: string;
  };
  /** A body that the sender may send. */
  readonly event?: unknown;
  readonly checked: string;
  readonly sources: readonly { readonly title: string; readonly url: string }[];
}

const read = (path: string) => readFileSync(join(root, path), "utf8");
const senders = JSON.parse(read("docs/senders.json")) as readonly Sender[];
const others = senders.filter(({ scheme }) => scheme === "hmac");
const builtIn = senders.filter(({ scheme }) => scheme !== "hmac");
const first = senders.filter(({ firstRequest }) => firstRequest);

const secret = "secret_test";

/** Returns the option of `hmac` for `header <name>` or `body <path>`. */
function optionOf(place: string | null | undefined): HmacOptions["id"] {
  const [kind, name = ""] = place?.split(" ") ?? [];
  if (kind === "header") return name;
  if (kind !== "body") return undefined;
  return (body: SignedBody) =>
    name
      .split(".")
      .reduce<unknown>((value, key) => (value as SignedBody | undefined)?.[key], body) as string;
}

function receiverFor({ sender, options, before, id, type }: Sender) {
  if (!options) throw new Error(`${sender} needs options.`);
  const scheme = hmac({
    name: sender.toLowerCase().replaceAll(" ", ""),
    ...options,
    before: before === undefined ? undefined : (time) => before.replace("{time}", time),
    id: optionOf(id),
    type: optionOf(type),
  });
  return createReceiver({ scheme, secret, on: { "*": () => {} }, log: () => {} });
}

/** Signs a body as a row describes it, without the code of the schemes. */
function signedBy({ options, before = "", id, type }: Sender, body: string, key = secret) {
  if (!options) throw new Error("A row of hmac needs options.");
  const time = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac("sha256", key).update(before.replace("{time}", time) + body);
  const named = [id, type].map((place) => /^header (.+)$/.exec(place ?? "")?.[1]);
  return {
    [options.header]: `${options.prefix ?? ""}${mac.digest(options.encoding)}`,
    ...(options.timestamp && { [options.timestamp.header]: time }),
    ...Object.fromEntries(named.filter((name) => name !== undefined).map((name) => [name, "n.1"])),
  };
}

describe.each(others)("$sender", (row) => {
  const body = JSON.stringify(row.event);
  const receive = (headers: Readonly<Record<string, string>>, text = body) =>
    receiverFor(row).receive({ method: "POST", headers, body: Buffer.from(text) });

  test("is accepted with the options of its row", async () => {
    const outcome = await receive(signedBy(row, body));
    expect(outcome).toMatchObject({ code: "processed" });
    const [kind, name = ""] = (row.type ?? "").split(" ");
    if (kind === "always") expect(outcome.type).toBe(name);
    if (kind === "header") expect(outcome.type).toBe("n.1");
    const hash = /^[\da-f]{64}$/.test(outcome.deliveryId ?? "");
    expect(hash).toBe(row.id === null);
  });

  test("is refused with a changed body", async () => {
    expect(await receive(signedBy(row, body), `${body} `)).toMatchObject({
      code: "signature_mismatch",
    });
  });
});

test.each(others.filter(({ options }) => options?.separator))(
  "$sender is accepted with a signature for each secret",
  async (row) => {
    const { header = "", separator } = row.options ?? {};
    const body = JSON.stringify(row.event);
    const values = ["another secret", secret].map((key) => signedBy(row, body, key)[header]);
    const headers = { ...signedBy(row, body), [header]: values.join(separator) };
    const outcome = await receiverFor(row).receive({
      method: "POST",
      headers,
      body: Buffer.from(body),
    });
    expect(outcome).toMatchObject({ code: "processed" });
  },
);

test.each(builtIn)("the row of $sender names the headers of its scheme", (row) => {
  const sample = Object.values(samples).find(({ call }) => call === row.scheme);
  expect(sample?.scheme.headers[0]).toBe(row.header);
  const [, id = row.header] = /^header (.+)$/.exec(row.id ?? "") ?? [];
  expect(sample?.scheme.headers).toContain(id);
});

test.each(senders)("the row of $sender has a date and a source", ({ checked, sources }) => {
  expect(checked).toMatch(/^2\d{3}-\d\d-\d\d$/);
  expect(sources.filter(({ url }) => url.startsWith("https://"))).not.toEqual([]);
});

test.each(first.filter(({ scheme }) => scheme === "hmac"))(
  "a receiver refuses the first request of $sender",
  async (row) => {
    const { method, contentType = "", body = "" } = row.firstRequest ?? { method: "" };
    const headers = { "content-type": contentType };
    const outcome = await receiverFor(row).receive({ method, headers, body: Buffer.from(body) });
    expect(outcome.code).toBe(method === "GET" ? "method_not_allowed" : "signature_missing");
  },
);

type Rows = readonly (readonly string[])[];

const table = (head: readonly string[], rows: Rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");

const linksOf = ({ sources }: Sender) =>
  sources.map(({ title, url }) => `[${title}](${url})`).join(", ");

const code = (value: unknown) => `\`${String(value)}\``;

/** Returns options as they are written in code. */
const optionsOf = ({ options, before }: Sender) =>
  [
    JSON.stringify(options)
      .replaceAll(/"(\w+)":/g, "$1: ")
      .replaceAll(/,(?=\w+: )/g, ", ")
      .replaceAll("{", "{ ")
      .replaceAll("}", " }"),
  ]
    .map(code)
    .concat(before === undefined ? [] : [`and ${code(before)} as the text \`before\` the body`])
    .join(", ");

const placeOf = (place: string | null | undefined, none: string) =>
  place?.replace(/(?<= )(.+)$/, "`$1`") ?? none;

/** Resolves to a page in which each table is the first one after a text. */
async function withTables(file: string, tables: Readonly<Record<string, string>>) {
  let page = read(file);
  const options = await resolveConfig(join(root, file));
  for (const [before, rows] of Object.entries(tables)) {
    // Formatting whole pages with their code takes seconds.
    const written = await format(rows, { ...options, filepath: file });
    const start = page.indexOf("\n|", page.indexOf(before)) + 1;
    const end = /\n(?!\|)/.exec(page.slice(start))?.index ?? 0;
    page = page.slice(0, start) + written.trimEnd() + page.slice(start + end);
  }
  return page;
}

/** Resolves to the page of a sender, with the facts of its row. */
async function withFacts(row: Sender) {
  const file = pageOf(row);
  const page = read(file);
  const facts = [
    row.signature && `- **Signature**: ${row.signature}`,
    `- **Success**: ${row.success}`,
    `- **Retries**: ${row.retries}`,
    `- **Sources**, read on ${row.checked}: ${linksOf(row)}`,
  ];
  const written = page.replace(
    /(?<=\n## Facts\n\n)(?:- .*\n)+/,
    () => `${facts.filter(Boolean).join("\n")}\n`,
  );
  const options = await resolveConfig(join(root, file));
  return format(written, { ...options, filepath: file });
}

const pageOf = ({ sender }: Sender) =>
  `docs/senders/${sender.toLowerCase().replaceAll(" ", "-")}.md`;

test.each(builtIn)(
  "the page of $sender has the facts of docs/senders.json (npx vitest run test/package/senders.test.ts -u writes them)",
  async (row) => {
    await expect(await withFacts(row)).toMatchFileSnapshot(join(root, pageOf(row)));
  },
);

test("each page of a sender has a row in docs/senders.json, and is listed", () => {
  const without = new Set(["README.md", "hmac.md", "write-a-scheme.md"]);
  const pages = readdirSync(join(root, "docs/senders")).filter((file) => !without.has(file));
  const rows = builtIn.map((row) => pageOf(row).replace("docs/senders/", ""));
  expect(pages.toSorted()).toEqual(rows.toSorted());
  const listed = read("docs/senders/README.md").matchAll(/^- \[.+?\]\((.+\.md)\)$/gm);
  expect(Array.from(listed, ([, file = ""]) => file).toSorted()).toEqual(rows.toSorted());
});

test("docs/senders/hmac.md has the senders for hmac (npx vitest run test/package/senders.test.ts -u writes them)", async () => {
  const page = await withTables("docs/senders/hmac.md", {
    "\n## Senders for hmac\n": table(
      ["sender", "options", "id", "type", "secret", "checked", "source"],
      others.map((row) => [
        row.sender,
        optionsOf(row),
        `${placeOf(row.id, "none: the SHA-256 of the body")}${row.note ? `. ${row.note}` : ""}`,
        placeOf(row.type, "the default"),
        row.key,
        row.checked,
        linksOf(row),
      ]),
    ),
  });
  await expect(page).toMatchFileSnapshot(join(root, "docs/senders/hmac.md"));
});

test("docs/senders/README.md has the first requests of senders (npx vitest run test/package/senders.test.ts -u writes them)", async () => {
  const lines = first.map(
    ({ sender, firstRequest: { request, response } = {} }) =>
      `- **${sender}**: ${request}. ${response}`,
  );
  const page = read("docs/senders/README.md").replace(
    /(^## First requests\n\n.*\n\n)(?:- .*\n)+/m,
    (_all, start: string) => `${start}${lines.join("\n")}\n`,
  );
  await expect(page).toMatchFileSnapshot(join(root, "docs/senders/README.md"));
});

/** Returns the senders of a scheme, as the README names them. */
const sendersOf = (call: string) =>
  senders
    .filter(({ scheme }) => scheme === call)
    .map(({ sender, covers }) => covers ?? sender)
    .join(", ") || "senders that give you a public key (`whpk_…`)";

const algorithmOf = (call: string) => {
  if (call === "sendgrid()") return "ECDSA P-256";
  return /ed25519|discord/.test(call) ? "Ed25519" : "HMAC-SHA256";
};

function idOf({
  call,
  scheme,
}: {
  readonly call: string;
  readonly scheme: { notice?: string | undefined };
}) {
  if (senders.some((row) => row.scheme === call && row.id === null)) return "SHA-256 of the body";
  return scheme.notice?.includes("delivery id") ? "**not signed**" : "signed";
}

test("the README of schemes has the senders of docs/senders.json", async () => {
  const rows = Object.values(samples).map((sample) => [
    code(sample.call),
    sendersOf(sample.call),
    algorithmOf(sample.call),
    idOf(sample),
  ]);
  const last = [
    code("hmac({ … })"),
    `${sendersOf("hmac")} and others`,
    "HMAC",
    "depends on the option `id`",
  ];
  const page = await withTables("packages/schemes/README.md", {
    "\n| scheme ": table(["scheme", "senders", "signature", "delivery id"], [...rows, last]),
  });
  await expect(page).toMatchFileSnapshot(join(root, "packages/schemes/README.md"));
});
