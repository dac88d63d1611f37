import { deepEqual, doesNotMatch, equal, match, notEqual } from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { sign } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import type { BodyMiddleware } from "./body-middleware.js";
import {
  challengeParameter,
  contractBodyLimit,
  contractReplies,
  contractSecret,
  hurryHeader,
} from "./contract-receiver.js";
import type { Reply } from "../http-sender.js";
import { pause } from "../pause.js";
import type { Probe } from "./probe.js";

export interface AdapterCase {
  readonly title: string;
  readonly bodyMiddleware?: BodyMiddleware;
  readonly run: (probe: Probe) => Promise<void>;
}

const encoder = new TextEncoder();
const forgedSignature = `sha256=${"0".repeat(64)}`;
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const codeOf = ({ body }: Reply): unknown => {
  const { status, error } = JSON.parse(body) as {
    readonly status?: string;
    readonly error?: { readonly code?: string };
  };
  return status ?? error?.code;
};

interface ExpectedResponse {
  readonly status: number;
  readonly retryAfter?: string;
  readonly allow?: string;
}

/** Checks that a reply has the status, the body and the headers of the response to the outcome `code`. */
function expectResponse(reply: Reply, code: string, expected: ExpectedResponse): void {
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

/** Returns a check that a delivery with this body is processed and that its handler receives exactly these bytes. */
const arrives = (body: string | Uint8Array, chunkBytes?: number) => async (probe: Probe) => {
  const delivery = await probe.signed(body);
  await probe.take("deliveries");
  equal(codeOf(await probe.send(chunkBytes ? { ...delivery, chunkBytes } : delivery)), "processed");
  const [seen] = await probe.take("deliveries");
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

/** Checks that a compressed body is rejected, although the signature covers the decompressed body. */
async function gzipIsRejected(probe: Probe): Promise<void> {
  const signature = await sign(event, contractSecret);
  const headers = { "content-encoding": "gzip", [headerNames.signature]: signature };
  const delivery = await probe.signed(gzipSync(event), { headers });
  equal(codeOf(await probe.send(delivery)), "encoding_unsupported");
}

/** Returns a check that a disconnect in the middle of a body leaves no claim, so that the next attempt is processed. */
const disconnectClaimsNothing = (chunkBytes?: number) => async (probe: Probe) => {
  const delivery = await probe.signed(event);
  await probe.take("codes");
  await probe.take("lines");
  const { hangUp } = await probe.begin(chunkBytes ? { ...delivery, chunkBytes } : delivery);
  await hangUp();
  equal(codeOf(await probe.send(delivery)), "processed");
  const codes = await probe.take("codes");
  deepEqual(
    codes.filter((code) => code !== "aborted"),
    ["processed"],
  );
  deepEqual(await probe.take("lines"), []);
};

const bytesAndSignature: readonly AdapterCase[] = [
  {
    title: "verifies a byte order mark as part of the body",
    run: arrives(`\uFEFF${event}`),
  },
  {
    title: "verifies bytes that are not UTF-8 unchanged and rejects them as malformed",
    run: endsAs(notUtf8, "malformed_body"),
  },
  {
    title: "passes $&, $$ and $` in a body on unchanged",
    run: arrives(`{"type":"contract.event","price":"$& $$ $\` $'"}`),
  },
  {
    title: "never re-serializes a parsed body",
    run: arrives(
      '{ "type":"contract.event", "n":1.0, "e":1e3, "u":"\\u00e9\\/", "k":1, "k":2, "2":0, "1":0, "big":12345678901234567890, "z":-0 }',
    ),
  },
  {
    title: "passes line endings on unchanged",
    run: arrives('{\r\n"type":\n"contract.event"\r\n}\r\n'),
  },
  {
    title: "accepts upper-case digits in a signature",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = (await sign(body, contractSecret)).toUpperCase().replace("SHA", "sha");
      const upperCase = { ...headers, [headerNames.signature]: signature };
      equal(codeOf(await probe.send({ body, headers: upperCase })), "processed");
    },
  },
  {
    title: "rejects an upper-case signature prefix as malformed",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = (await sign(body, contractSecret)).replace("sha", "SHA");
      const upperCase = { ...headers, [headerNames.signature]: signature };
      equal(codeOf(await probe.send({ body, headers: upperCase })), "signature_malformed");
    },
  },
  {
    title: "rejects two signatures as malformed even if one is valid",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const signature = await sign(body, contractSecret);
      const twice = { ...headers, [headerNames.signature]: [signature, signature] };
      equal(codeOf(await probe.send({ body, headers: twice })), "signature_malformed");
    },
  },
  {
    title: "rejects two delivery ids as malformed",
    async run(probe) {
      const { body, headers } = await probe.signed(event);
      const twice = { ...headers, [headerNames.deliveryId]: ["dlv_1", "dlv_2"] };
      equal(codeOf(await probe.send({ body, headers: twice })), "delivery_id_malformed");
    },
  },
  {
    title: "rejects two signatures or ids whose header names differ in case",
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
    title: "accepts header names in any case",
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
    title: "passes unsigned headers on unchanged",
    async run(probe) {
      const headers = { [headerNames.subscriptionId]: "sub_/~:A" };
      const unique = `dlv_!#$%41&()*+-./:;<=>?@[]^_\`{|}~A${crypto.randomUUID()}`;
      const deliveryId = unique.padEnd(256, "Z");
      await probe.take("deliveries");
      await probe.send(await probe.signed(event, { deliveryId, attempt: 7, headers }));
      const [seen] = await probe.take("deliveries");
      const expected = { deliveryId, attempt: 7, subscriptionId: "sub_/~:A", hex: seen?.hex };
      deepEqual(seen, expected);
    },
  },
  { title: "rejects a gzip body instead of decompressing it", run: gzipIsRejected },
  {
    title: "rejects a gzip body that middleware has kept, decompressed or not",
    bodyMiddleware: "buffers",
    run: gzipIsRejected,
  },
  {
    title: "reads an empty body and rejects it as malformed",
    run: endsAs("", "malformed_body"),
  },
];

const rawBody: readonly AdapterCase[] = [
  {
    title: "reports a body that was already parsed as unavailable and logs the fix",
    bodyMiddleware: "parses",
    async run(probe) {
      await probe.take("lines");
      const reply = await probe.send(await probe.signed(event));
      expectResponse(reply, "body_unavailable", { status: 500 });
      const lines = await probe.take("lines");
      equal(lines.length, 1, `The receiver should log one line, not ${JSON.stringify(lines)}.`);
      match(
        String(lines[0]),
        /body_unavailable: .+; .{20,}/,
        "The line should state how to fix the problem.",
      );
    },
  },
  {
    title: "uses the exact bytes that middleware has kept",
    bodyMiddleware: "buffers",
    run: arrives(`\uFEFF${event}\r\n`),
  },
  {
    title: "verifies kept bytes that are not UTF-8 unchanged",
    bodyMiddleware: "buffers",
    run: endsAs(notUtf8, "malformed_body"),
  },
  {
    title: "accepts empty kept bytes as an empty body",
    bodyMiddleware: "buffers",
    run: endsAs("", "malformed_body"),
  },
  {
    title: "reports a truncated body as unavailable, not as forged",
    bodyMiddleware: "truncates",
    async run(probe) {
      await probe.take("lines");
      const reply = await probe.send(await probe.signed(event));
      equal(codeOf(reply), "body_unavailable");
      const [line] = await probe.take("lines");
      match(String(line), new RegExp(`cut to \\d+ of ${event.length} bytes; .{20,}`));
    },
  },
  {
    title: "ignores the content type",
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
    title: "keeps concurrent deliveries separate",
    async run(probe) {
      const slow = await probe.signed(`${event} `);
      const quick = await probe.signed(event);
      await probe.take("deliveries");
      const { finish } = await probe.begin(slow);
      equal(codeOf(await probe.send(quick)), "processed");
      equal(codeOf(await finish()), "processed");
      const seen = await probe.take("deliveries");
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
    title: "joins a body that arrives in one-byte chunks",
    run: arrives(`{"type":"contract.event","é":"€😀"}`, 1),
  },
  {
    title: "responds to a body in 20,000 one-byte chunks, whether its signature is valid or not",
    async run(probe) {
      const body = sized(20_000);
      const headers = { [headerNames.signature]: forgedSignature };
      // `body_too_large` passes too: a body reader may limit the number of chunks, because senders never send so many.
      for (const [delivery, codes] of [
        [await probe.signed(body, { headers }), /^(signature_mismatch|body_too_large)$/],
        [await probe.signed(body), /^(processed|body_too_large)$/],
      ] as const) {
        match(String(codeOf(await probe.sendBytewise(delivery))), codes);
      }
    },
  },
  { title: "accepts a body of exactly the limit", run: arrives(sized(contractBodyLimit)) },
  {
    title: "accepts a chunked body of exactly the limit",
    run: arrives(sized(contractBodyLimit), 10_000),
  },
  {
    title: "rejects a body of one byte more than the limit",
    run: endsAs(sized(contractBodyLimit + 1), "body_too_large"),
  },
  {
    title: "rejects a chunked body of one byte more than the limit",
    run: endsAs(sized(contractBodyLimit + 1), "body_too_large", 10_000),
  },
  {
    title: "processes the next delivery on a connection that was kept after a rejection",
    async run(probe) {
      const genuine = () => probe.signed(event);
      const large = sized(contractBodyLimit - 1);
      const withHeaders = async (headers: Readonly<Record<string, string | undefined>>) =>
        probe.signed(large, { headers });
      const tooLarge = await probe.signed(`${large}${large}`);
      for (const [why, rejected] of [
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
        equal(codeOf(await probe.sendAfter(rejected, await genuine())), "processed", why);
      }
    },
  },
  {
    title: "ignores forwarded hosts and protocols",
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
    title: "claims nothing if the client disconnects in the middle of a body",
    run: disconnectClaimsNothing(),
  },
  {
    title: "claims nothing if the client disconnects between chunks",
    run: disconnectClaimsNothing(1),
  },
  {
    title: "neither reads an unsigned body nor checks whether it is available",
    bodyMiddleware: "parses",
    async run(probe) {
      const headers = { [headerNames.signature]: undefined };
      await probe.take("lines");
      const reply = await probe.send(await probe.signed(event, { headers }));
      equal(codeOf(reply), "signature_missing");
      const lines = await probe.take("lines");
      deepEqual(
        lines.filter((line) => !line.includes("signature_missing")),
        [],
      );
    },
  },
];

/** Returns a function that sends an event of this type, which changes the receiver's state and must be processed. */
const after = (type: string) => async (probe: Probe) => {
  equal(codeOf(await probe.send(await probe.event(type))), "processed");
};

interface OutcomeCase extends ExpectedResponse {
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
    when: "with the retryAfterMs of its error",
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
    // Sends twice the limit. A case above sends only one byte more than the limit.
    send: async (probe) => probe.send(await probe.signed(sized(2 * contractBodyLimit))),
  },
  {
    code: "encoding_unsupported",
    status: 415,
    send: sending("contract.event", { "content-encoding": "br" }),
  },
  ...methods.map((method) => ({
    code: "method_not_allowed",
    when: `to ${method}`,
    status: 405,
    allow: "POST",
    send: (probe: Probe) => probe.send({ method }),
  })),
];

const dispatchAndResponses: readonly AdapterCase[] = [
  ...outcomes.map(({ code, when = "", first, send, ...expected }) => ({
    title: ["sends the exact response for", code, when].join(" ").trim(),
    async run(probe: Probe) {
      await first?.(probe);
      expectResponse(await send(probe), code, expected);
    },
  })),
  {
    title: "sends the exact response for body_timeout",
    async run(probe) {
      const headers = { [hurryHeader]: "1" };
      const { reply, finish } = await probe.begin(await probe.signed(event, { headers }));
      const early = await Promise.race([reply, pause(2_000)]);
      const late = early ?? (await finish());
      // `processed` passes too if it arrives after the whole body has been sent, because some platforms read the whole
      // body before they call a route or respond.
      if (early || codeOf(late) !== "processed") {
        expectResponse(late, "body_timeout", { status: 408 });
      }
    },
  },
  {
    title: "rejects HEAD like other methods, but without a body",
    async run(probe) {
      const { status, headers, body } = await probe.send({ method: "HEAD" });
      deepEqual({ status, allow: headers.allow, body }, { status: 405, allow: "POST", body: "" });
    },
  },
  {
    title: "sends the exact responses for a timed-out handler and for a concurrent copy",
    async run(probe) {
      const delivery = await probe.event("contract.waits");
      const replies = await Promise.all([probe.send(delivery), probe.send(delivery)]);
      const [late, copy] = replies.toSorted(
        (a, b) => (codeOf(a) === "in_flight" ? 1 : 0) - (codeOf(b) === "in_flight" ? 1 : 0),
      );
      expectResponse(late as Reply, "handler_timeout", { status: 503, retryAfter: "5" });
      expectResponse(copy as Reply, "in_flight", { status: 503, retryAfter: "5" });
      await after("contract.release")(probe);
    },
  },
  {
    title: "sends the reply of a scheme unchanged, and no body with 204",
    async run(probe) {
      const none = await probe.event("contract.no_content");
      const { status, headers, body } = await probe.send(none);
      deepEqual(
        { status, body, cache: headers["cache-control"] },
        { status: 204, body: "", cache: "no-store" },
      );
      equal(headers["content-length"] ?? "0", "0");
      equal(headers["transfer-encoding"], undefined);
      equal(codeOf(await probe.sendAfter(none, await probe.event("contract.event"))), "processed");

      const replied = await probe.send(await probe.event("contract.replies"));
      const expected = contractReplies["contract.replies"];
      deepEqual(
        {
          status: replied.status,
          headers: {
            "Content-Type": replied.headers["content-type"],
            "X-Contract": replied.headers["x-contract"],
          },
          body: replied.body,
          cache: replied.headers["cache-control"],
        },
        { status: 200, ...expected, cache: undefined },
      );
    },
  },
  {
    title: "passes the query of a GET request on unchanged",
    async run(probe) {
      const { status, body } = await probe.send({
        method: "GET",
        query: `?a=1&${challengeParameter}=a%26b%20%E2%82%AC%2F`,
      });
      deepEqual({ status, body }, { status: 200, body: "a&b €/" });
    },
  },
  {
    title: "passes a failing delivery on once and leaves retries to the sender",
    async run(probe) {
      const delivery = await probe.event("contract.fails");
      await probe.take("codes");
      await probe.send(delivery);
      await probe.send(delivery);
      const codes = await probe.take("codes");
      // Handlers of earlier cases may finish only now, so other codes are ignored.
      equal(codes.filter((code) => code === "handler_failed").length, 2, codes.join());
    },
  },
  {
    title: "reveals nothing about the event or its handler in the response headers",
    async run(probe) {
      const { headers } = await probe.send(await probe.event("contract.fails"));
      doesNotMatch(JSON.stringify(headers), /contract\.|confidential/);
    },
  },
  {
    title: "waits for the handler before it responds",
    async run(probe) {
      await probe.take("deliveries");
      await sending("contract.takes_its_time")(probe);
      notEqual((await probe.take("deliveries")).length, 0);
    },
  },
];

/** The cases of the contract, one for each known mistake of adapters. */
export const adapterCases: readonly AdapterCase[] = [
  ...bytesAndSignature,
  ...rawBody,
  ...dispatchAndResponses,
];
