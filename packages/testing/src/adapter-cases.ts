import { deepEqual, doesNotMatch, equal, match, notEqual } from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { headerNames, sign } from "@svc-webhooks/core";
import type { Before } from "./adapter-contract.js";
import { contractBodyLimit, contractSecret, hurryHeader } from "./contract-receiver.js";
import type { Probe, Reply } from "./probe.js";

export interface AdapterCase {
  readonly title: string;
  readonly before?: Before;
  readonly run: (probe: Probe) => Promise<void>;
}

const encoder = new TextEncoder();
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const forgedSignature = `sha256=${"0".repeat(64)}`;
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const codeOf = ({ body }: Reply): unknown => {
  const { status, error } = JSON.parse(body) as {
    readonly status?: string;
    readonly error?: { readonly code?: string };
  };
  return status ?? error?.code;
};

interface ExpectedAnswer {
  readonly status: number;
  readonly retryAfter?: string;
  readonly allow?: string;
}

/** What the answer to an outcome must be, to the letter; headers that others add do not count. */
function expectAnswer(reply: Reply, code: string, expected: ExpectedAnswer): void {
  const content =
    expected.status === 200
      ? { status: code }
      : { error: { code, message: code.replaceAll("_", " ") } };
  const { headers } = reply;
  deepEqual(
    {
      body: reply.body,
      status: reply.status,
      contentType: headers["content-type"],
      cacheControl: headers["cache-control"],
      retryAfter: headers["retry-after"],
      allow: headers.allow,
    },
    {
      body: JSON.stringify(content),
      status: expected.status,
      contentType: "application/json",
      cacheControl: "no-store",
      retryAfter: expected.retryAfter,
      allow: expected.allow,
    },
  );
}

/** The delivery is processed, and its handler is given exactly these bytes. */
const arrives = (body: string | Uint8Array, chunkBytes?: number) => async (probe: Probe) => {
  const delivery = await probe.signed(body);
  await probe.ask("deliveries");
  equal(codeOf(await probe.send(chunkBytes ? { ...delivery, chunkBytes } : delivery)), "processed");
  const [seen] = await probe.ask("deliveries");
  equal(seen?.hex, hexOf(delivery.body));
};

const endsAs = (body: string | Uint8Array, code: string, chunkBytes?: number) =>
  async function (probe: Probe) {
    const delivery = await probe.signed(body);
    equal(codeOf(await probe.send(chunkBytes ? { ...delivery, chunkBytes } : delivery)), code);
  };

const event = '{"type":"contract.event"}';
const sized = (bytes: number) => event.padEnd(bytes, " ");
const notUtf8 = Uint8Array.from([...encoder.encode('{"a":"'), 0xff, 0xfe, 0x22, 0x7d]);

/** The signature is over what the body inflates to. */
async function gzipIsRefused(probe: Probe): Promise<void> {
  const signature = await sign(event, contractSecret);
  const headers = { "content-encoding": "gzip", [headerNames.signature]: signature };
  const delivery = await probe.signed(gzipSync(event), { headers });
  equal(codeOf(await probe.send(delivery)), "encoding_unsupported");
}

/** The delivery ends without a claim, and the next one is as good as if it had not been. */
const hangingUpClaimsNothing = (chunkBytes?: number) => async (probe: Probe) => {
  const delivery = await probe.signed(event);
  await probe.ask("codes");
  await probe.ask("lines");
  const { hangUp } = await probe.begin(chunkBytes ? { ...delivery, chunkBytes } : delivery);
  await hangUp();
  equal(codeOf(await probe.send(delivery)), "processed");
  const codes = await probe.ask("codes");
  deepEqual(
    codes.filter((code) => code !== "aborted"),
    ["processed"],
  );
  deepEqual(await probe.ask("lines"), []);
};

const bytesAndSignature: readonly AdapterCase[] = [
  { title: "trap 1: a byte order mark is among the signed bytes", run: arrives(`\uFEFF${event}`) },
  {
    title: "trap 1: bytes that are no UTF-8 are signed as they are, and refused as no JSON",
    run: endsAs(notUtf8, "malformed_body"),
  },
  {
    title: "trap 2: $&, $$ and $` in a body stand for themselves",
    run: arrives(`{"type":"contract.event","price":"$& $$ $\` $'"}`),
  },
  {
    title: "trap 3: a body is never written anew from what was parsed",
    run: arrives(
      '{ "type":"contract.event", "n":1.0, "e":1e3, "u":"\\u00e9\\/", "k":1, "k":2, "2":0, "1":0, "big":12345678901234567890, "z":-0 }',
    ),
  },
  { title: "line ends are left alone", run: arrives('{\r\n"type":\n"contract.event"\r\n}\r\n') },
  {
    title: "trap 5: upper-case digits of a signature are as good",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = (await sign(body, contractSecret)).toUpperCase().replace("SHA", "sha");
      const upperCase = { ...headers, [headerNames.signature]: signature };
      equal(codeOf(await probe.send({ body, headers: upperCase })), "processed");
    },
  },
  {
    title: "trap 5: an upper-case prefix is malformed",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = (await sign(body, contractSecret)).replace("sha", "SHA");
      const upperCase = { ...headers, [headerNames.signature]: signature };
      equal(codeOf(await probe.send({ body, headers: upperCase })), "signature_malformed");
    },
  },
  {
    title: "trap 6: two signatures are malformed, also when one is right",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = await sign(body, contractSecret);
      const twice = { ...headers, [headerNames.signature]: [signature, signature] };
      equal(codeOf(await probe.send({ body, headers: twice })), "signature_malformed");
    },
  },
  {
    title: "trap 6: two delivery ids are malformed",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const twice = { ...headers, [headerNames.deliveryId]: ["dlv_1", "dlv_2"] };
      equal(codeOf(await probe.send({ body, headers: twice })), "delivery_id_malformed");
    },
  },
  {
    title: "trap 6: two signatures or ids whose names differ in case are malformed",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      for (const [name, code] of [
        [headerNames.signature, "signature_malformed"],
        [headerNames.deliveryId, "delivery_id_malformed"],
      ] as const) {
        const twice = { ...headers, [name.toUpperCase()]: headers[name] };
        equal(codeOf(await probe.send({ body, headers: twice })), code);
      }
    },
  },
  {
    title: "names of headers may be in any case",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const titled = Object.entries(headers).map(
        ([name, value]) =>
          [name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()), value] as const,
      );
      const sent = { body, headers: Object.fromEntries(titled) };
      equal(codeOf(await probe.send(sent)), "processed");
    },
  },
  {
    title: "unsigned headers arrive as they were sent",
    async run(probe) {
      const headers = { [headerNames.subscriptionId]: "sub_/~:A" };
      const unique = `dlv_!#$%41&()*+-./:;<=>?@[]^_\`{|}~A${crypto.randomUUID()}`;
      const deliveryId = unique.padEnd(256, "Z");
      await probe.ask("deliveries");
      await probe.send(await probe.signed(event, { deliveryId, attempt: 7, headers }));
      const [seen] = await probe.ask("deliveries");
      const expected = { deliveryId, attempt: 7, subscriptionId: "sub_/~:A", hex: seen?.hex };
      deepEqual(seen, expected);
    },
  },
  { title: "trap 9: a body in gzip is refused, not inflated", run: gzipIsRefused },
  {
    title: "trap 9: a body in gzip is refused where it was kept, inflated or not",
    before: "keeper",
    run: gzipIsRefused,
  },
  { title: "trap 12: an empty body is read, and is no JSON", run: endsAs("", "malformed_body") },
];

const rawBody: readonly AdapterCase[] = [
  {
    title:
      "traps 13, 16, 17, 20: a body that was parsed before is unavailable, with what to do about it",
    before: "parser",
    async run(probe) {
      await probe.ask("lines");
      const reply = await probe.send(await probe.signed(event));
      expectAnswer(reply, "body_unavailable", { status: 500 });
      const lines = await probe.ask("lines");
      equal(lines.length, 1, `one line is printed, not ${JSON.stringify(lines)}`);
      match(String(lines[0]), /body_unavailable: .+; .{20,}/, "the line says what to do");
    },
  },
  {
    title: "bytes that were read before and kept are taken as they are",
    before: "keeper",
    run: arrives(`\uFEFF${event}\r\n`),
  },
  {
    title: "bytes that were read before and kept need be no UTF-8",
    before: "keeper",
    run: endsAs(notUtf8, "malformed_body"),
  },
  {
    title: "an empty body that was read before and kept is an empty body",
    before: "keeper",
    run: endsAs("", "malformed_body"),
  },
  {
    title: "trap 43: a body that was cut on the way is unavailable, not forged",
    before: "cutter",
    async run(probe) {
      await probe.ask("lines");
      const reply = await probe.send(await probe.signed(event));
      equal(codeOf(reply), "body_unavailable");
      const [line] = await probe.ask("lines");
      match(String(line), new RegExp(`cut to \\d+ of ${event.length} bytes; .{20,}`));
    },
  },
  {
    title: "trap 13: the content type decides nothing",
    async run(probe) {
      for (const type of [
        undefined,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
        "application/json; charset=utf-16le",
      ]) {
        const headers = { "content-type": type };
        const delivery = await probe.signed('{"type":"contract.event","é":1}', { headers });
        equal(codeOf(await probe.send(delivery)), "processed", type);
      }
    },
  },
  {
    title: "a delivery that comes while another is read is kept apart from it",
    async run(probe) {
      const slow = await probe.signed(`${event} `);
      const quick = await probe.signed(event);
      await probe.ask("deliveries");
      const { finish } = await probe.begin(slow);
      equal(codeOf(await probe.send(quick)), "processed");
      equal(codeOf(await finish()), "processed");
      const seen = await probe.ask("deliveries");
      deepEqual(
        seen.map(({ deliveryId, hex }) => ({ deliveryId, hex })),
        [quick, slow].map(({ headers, body }) => ({
          deliveryId: headers[headerNames.deliveryId],
          hex: hexOf(body),
        })),
      );
    },
  },
  {
    title: "a body that comes in chunks of one byte is put together",
    run: arrives(`{"type":"contract.event","é":"€😀"}`, 1),
  },
  {
    title: "a body in 100,000 chunks of one byte gets a response, whoever has sent it",
    async run(probe) {
      const body = sized(100_000);
      const headers = { [headerNames.signature]: forgedSignature };
      // Readers may limit the number of pieces: no sender makes so many.
      for (const [delivery, codes] of [
        [await probe.signed(body, { headers }), /^(signature_mismatch|body_too_large)$/],
        [await probe.signed(body), /^(processed|body_too_large)$/],
      ] as const) {
        match(String(codeOf(await probe.sendBytewise(delivery))), codes);
      }
    },
  },
  { title: "a body of exactly the limit is taken", run: arrives(sized(contractBodyLimit)) },
  {
    title: "a body of exactly the limit is taken in chunks",
    run: arrives(sized(contractBodyLimit), 10_000),
  },
  {
    title: "a body of one byte more than the limit is too large",
    run: endsAs(sized(contractBodyLimit + 1), "body_too_large"),
  },
  {
    title: "a body of one byte more than the limit is too large in chunks",
    run: endsAs(sized(contractBodyLimit + 1), "body_too_large", 10_000),
  },
  {
    title: "a connection that is kept after a refusal can be used again",
    async run(probe) {
      const genuine = () => probe.signed(event);
      const large = sized(contractBodyLimit - 1);
      const withHeaders = async (headers: Readonly<Record<string, string | undefined>>) =>
        probe.signed(large, { headers });
      const tooLarge = await probe.signed(`${large}${large}`);
      for (const [why, refused] of [
        [
          "unsigned",
          await withHeaders({
            [headerNames.signature]: undefined,
            [headerNames.deliveryId]: undefined,
          }),
        ],
        ["forged", await withHeaders({ [headerNames.signature]: forgedSignature })],
        ["encoded", await withHeaders({ "content-encoding": "br" })],
        ["another method", { ...(await genuine()), method: "PATCH" }],
        ["too large", tooLarge],
        ["too large in chunks", { ...tooLarge, chunkBytes: 10_000 }],
      ] as const) {
        equal(codeOf(await probe.sendAfter(refused, await genuine())), "processed", why);
      }
    },
  },
  {
    title: "trap 18: forwarded hosts and protocols change nothing",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const forged = {
        forwarded: "host=%;proto=%",
        "x-forwarded-host": "a b/../@c:99999",
        "x-forwarded-proto": "javascript",
      };
      equal(codeOf(await probe.send({ body, headers: { ...headers, ...forged } })), "processed");
    },
  },
  {
    title: "trap 19: a client that hangs up in the middle of a body claims nothing",
    run: hangingUpClaimsNothing(),
  },
  {
    title: "trap 19: a client that hangs up between chunks claims nothing",
    run: hangingUpClaimsNothing(1),
  },
  {
    title: "trap 49: an unsigned body is not asked for, not even whether it can be had",
    before: "parser",
    async run(probe) {
      const headers = { [headerNames.signature]: undefined };
      await probe.ask("lines");
      const reply = await probe.send(await probe.signed(event, { headers }));
      equal(codeOf(reply), "signature_missing");
      deepEqual(await probe.ask("lines"), []);
    },
  },
];

/** Sends one event for its effect on the receiver, before the one that matters. */
const after = (type: string) => async (probe: Probe) => {
  equal(codeOf(await probe.send(await probe.event(type))), "processed");
};

interface OutcomeCase extends ExpectedAnswer {
  readonly code: string;
  readonly when?: string;
  readonly first?: (probe: Probe) => Promise<void>;
  readonly send: (probe: Probe) => Promise<Reply>;
}

const sending =
  (type: string, headers?: Readonly<Record<string, string | undefined>>) => async (probe: Probe) =>
    probe.send(await probe.event(type, { headers }));

const methods = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"];

const outcomes: readonly OutcomeCase[] = [
  { code: "processed", status: 200, send: sending("contract.event") },
  { code: "ignored", status: 200, send: sending("other.event") },
  {
    code: "duplicate",
    status: 200,
    async send(probe) {
      const delivery = await probe.event("contract.event");
      await probe.send(delivery);
      return probe.send(delivery);
    },
  },
  { code: "parked", status: 200, send: sending("contract.gives_up") },
  { code: "handler_failed", status: 500, send: sending("contract.fails") },
  {
    code: "handler_failed",
    when: "with the time its error asks for",
    status: 500,
    retryAfter: "91",
    send: sending("contract.fails_later"),
  },
  { code: "event_invalid", status: 500, send: sending("contract.invalid") },
  {
    code: "event_untyped",
    status: 500,
    send: async (probe) => probe.send(await probe.signed("{}")),
  },
  {
    code: "store_unavailable",
    status: 503,
    retryAfter: "5",
    first: after("contract.store_goes"),
    send: sending("contract.event"),
  },
  {
    code: "misconfigured",
    status: 500,
    first: after("contract.secret_goes"),
    send: sending("contract.event"),
  },
  { code: "internal_error", status: 500, send: sending("contract.throws") },
  {
    code: "signature_missing",
    status: 401,
    send: sending("contract.event", { [headerNames.signature]: undefined }),
  },
  {
    code: "signature_malformed",
    status: 401,
    send: sending("contract.event", { [headerNames.signature]: "sha256=0" }),
  },
  {
    code: "signature_mismatch",
    status: 401,
    send: sending("contract.event", { [headerNames.signature]: forgedSignature }),
  },
  {
    code: "delivery_id_missing",
    status: 400,
    send: sending("contract.event", { [headerNames.deliveryId]: undefined }),
  },
  {
    code: "delivery_id_malformed",
    status: 400,
    send: sending("contract.event", { [headerNames.deliveryId]: "dlv 1" }),
  },
  {
    code: "malformed_body",
    status: 400,
    send: async (probe) => probe.send(await probe.signed("[]")),
  },
  {
    code: "body_too_large",
    status: 413,
    // Not of one byte more, as above: that too is something to get wrong alone.
    send: async (probe) => probe.send(await probe.signed(sized(2 * contractBodyLimit))),
  },
  {
    code: "encoding_unsupported",
    status: 415,
    send: sending("contract.event", { "content-encoding": "br" }),
  },
  ...methods.map((method) => ({
    code: "method_not_allowed",
    when: `for ${method}`,
    status: 405,
    allow: "POST",
    send: (probe: Probe) => probe.send({ method }),
  })),
];

const dispatchAndAnswers: readonly AdapterCase[] = [
  ...outcomes.map(({ code, when = "", first, send, ...expected }) => ({
    title: ["the answer to", code, "is exact", when].join(" ").trim(),
    async run(probe: Probe) {
      await first?.(probe);
      expectAnswer(await send(probe), code, expected);
    },
  })),
  {
    title: "the answer to body_timeout is exact",
    async run(probe) {
      const headers = { [hurryHeader]: "1" };
      const { reply, finish } = await probe.begin(await probe.signed(event, { headers }));
      const early = await Promise.race([reply, pause(2_000)]);
      const late = early ?? (await finish());
      // Some platforms read all of a body before they call a route, or before they send its response.
      if (early || codeOf(late) !== "processed") {
        expectAnswer(late, "body_timeout", { status: 408 });
      }
    },
  },
  {
    title: "HEAD is refused as other methods are, without a body",
    async run(probe) {
      const { status, headers, body } = await probe.send({ method: "HEAD" });
      deepEqual({ status, allow: headers.allow, body }, { status: 405, allow: "POST", body: "" });
    },
  },
  {
    title: "the answers to a handler past its time and to its copy are exact",
    async run(probe) {
      const delivery = await probe.event("contract.waits");
      const replies = await Promise.all([probe.send(delivery), probe.send(delivery)]);
      const [late, copy] = replies.toSorted(
        (a, b) => (codeOf(a) === "in_flight" ? 1 : 0) - (codeOf(b) === "in_flight" ? 1 : 0),
      );
      expectAnswer(late as Reply, "handler_timeout", { status: 503, retryAfter: "5" });
      expectAnswer(copy as Reply, "in_flight", { status: 503, retryAfter: "5" });
      await after("contract.release")(probe);
    },
  },
  {
    title: "a delivery that fails is handed over once, and tried again by its sender alone",
    async run(probe) {
      const delivery = await probe.event("contract.fails");
      await probe.ask("codes");
      await probe.send(delivery);
      await probe.send(delivery);
      const codes = await probe.ask("codes");
      // Handlers of earlier cases may be ending only now.
      equal(codes.filter((code) => code === "handler_failed").length, 2, codes.join());
    },
  },
  {
    title: "trap 39: no header of an answer tells of the event or its handler",
    async run(probe) {
      const { headers } = await probe.send(await probe.event("contract.fails"));
      doesNotMatch(JSON.stringify(headers), /contract\.|confidential/);
    },
  },
  {
    title: "trap 42: the answer waits for the handler",
    async run(probe) {
      await probe.ask("deliveries");
      await sending("contract.takes_its_time")(probe);
      notEqual((await probe.ask("deliveries")).length, 0);
    },
  },
];

/** Everything an adapter can get wrong, by the groups of the traps list. */
export const adapterCases: readonly AdapterCase[] = [
  ...bytesAndSignature,
  ...rawBody,
  ...dispatchAndAnswers,
];
