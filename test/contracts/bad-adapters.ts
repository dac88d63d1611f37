import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import {
  answer,
  BodyError,
  headerNames,
  type Answer,
  type BodyReader,
  type HeaderValue,
  type Outcome,
  type OutcomeCode,
} from "@svc-webhooks/core";
import { readRawBody } from "@svc-webhooks/node";
import type { TouchedRequest } from "../support/servers.js";
import { goodAdapter, type Adapter } from "./good-adapter.js";

type Where = (request: TouchedRequest) => boolean;

const isKept: Where = ({ rawBody }) => rawBody !== undefined;
const isStreamed: Where = ({ rawBody }) => rawBody === undefined;
const isChunked: Where = ({ headers }) => headers["content-length"] === undefined;
const isAnnounced: Where = ({ headers }) => headers["content-length"] !== undefined;
const isGzip: Where = ({ headers }) => headers["content-encoding"] === "gzip";
const isUnsigned: Where = ({ headers }) => headers[headerNames.signature] === undefined;

const bad = (mistake: Partial<Adapter>): Adapter => ({ ...goodAdapter, ...mistake });

/** Changes the bytes that were read. */
const reading = (where: Where, change: (bytes: Buffer, limit: number) => Uint8Array): Adapter =>
  bad({
    async read(request, limit) {
      const bytes = Buffer.from(await readRawBody(request, limit));
      return where(request) ? change(bytes, limit) : bytes;
    },
  });

/** Changes the text of a body, without the harm that decoding does of itself. */
const rewriting = (change: (text: string) => string): Adapter =>
  reading(isStreamed, (bytes) => Buffer.from(change(bytes.toString("latin1")), "latin1"));

// Where nothing is invalid: what a decoder makes of that is another mistake.
const withoutMark = (bytes: Buffer) =>
  isUtf8(bytes) ? Buffer.from(new TextDecoder().decode(bytes)) : bytes;
const withReplacements = (bytes: Buffer) => Buffer.from(bytes.toString());

const refusing = (code: "body_unavailable" | "body_too_large") => {
  throw new BodyError(code);
};

const notEmpty = (bytes: Buffer) => (bytes.length > 0 ? bytes : refusing("body_unavailable"));
const belowTheLimit = (bytes: Buffer, limit: number) =>
  bytes.length < limit ? bytes : refusing("body_too_large");

/** Takes a client that went away for the end of the body. */
const endingWithTheClient = (where: Where): Adapter =>
  bad({
    read: (request, limit) =>
      readRawBody(request, limit).catch((error: BodyError) => {
        if (error.code === "aborted" && where(request)) return new Uint8Array();
        throw error;
      }),
  });

/** Hands over another value of one header. */
const header = (
  changed: string,
  change: (value: string, request: TouchedRequest) => HeaderValue,
): Adapter =>
  bad({
    header(request, name) {
      const value = request.headers[name];
      return name === changed && typeof value === "string" ? change(value, request) : value;
    },
  });

type AnswerChange = (answer: Answer) => Partial<Answer>;

const answering = (
  where: (outcome: Outcome, request: TouchedRequest) => boolean,
  change: AnswerChange,
): Adapter =>
  bad({
    answer(outcome, request) {
      const right = answer(outcome);
      return where(outcome, request) ? { ...right, ...change(right) } : right;
    },
  });

const to = (code: OutcomeCode, change: AnswerChange) =>
  answering((outcome) => outcome.code === code, change);

const toMethod = (method: string, change: AnswerChange) =>
  answering((_outcome, request) => request.method === method, change);

const status =
  (instead: number): AnswerChange =>
  () => ({ status: instead });

const without =
  (dropped: string): AnswerChange =>
  ({ headers }) => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== dropped)),
  });

/** Remembers the request that came last, for all that are under way. */
function forgetful(): Adapter {
  let current: TouchedRequest;
  return bad({
    receive(receiver, delivery, request) {
      current = request;
      return receiver.receive({ ...delivery, headers: (name) => current.headers[name] });
    },
  });
}

/** Takes the first of several values, if all lines spell the name alike. */
function firstOfAlike(value: string, { rawHeaders }: TouchedRequest): HeaderValue {
  const [first, ...others] = value.split(", ");
  const names = rawHeaders.filter((_name, at) => rawHeaders[at + 1] === first && at % 2 === 0);
  return new Set(names).size === 1 && others.length > 0 ? first : value;
}

/** Leaves the rest of a body on its connection, where it is taken for the next request. */
function breakingConnections(): Adapter {
  const broken = new WeakSet<Socket>();
  return answering(
    ({ code }, { socket }) => {
      const isBroken = broken.has(socket);
      if (code === "body_too_large") broken.add(socket);
      return isBroken;
    },
    () => ({ status: 400, body: "{}" }),
  );
}

/**
 * By the title of a case: an adapter that fails in it, and in no other. Mistakes that would fail more
 * are made only where that case looks.
 */
export const badAdapters: Readonly<Record<string, Adapter>> = {
  "trap 1: a byte order mark is among the signed bytes": reading(isStreamed, withoutMark),
  "trap 1: bytes that are no UTF-8 are signed as they are, and refused as no JSON": reading(
    isStreamed,
    withReplacements,
  ),
  "trap 2: $&, $$ and $` in a body stand for themselves": rewriting((text) =>
    "{body}".replace("{body}", text),
  ),
  "trap 3: a body is never written anew from what was parsed": rewriting((text) =>
    text.startsWith("{ ") ? JSON.stringify(JSON.parse(text)) : text,
  ),
  "line ends are left alone": rewriting((text) => text.replaceAll("\r\n", "\n")),
  "trap 5: upper-case digits of a signature are as good": header(headerNames.signature, (value) =>
    /^sha256=.*[A-F]/.test(value) ? "no digits" : value,
  ),
  "trap 5: an upper-case prefix is malformed": header(headerNames.signature, (value) =>
    value.toLowerCase(),
  ),
  "trap 6: two signatures are malformed, also when one is right": header(
    headerNames.signature,
    firstOfAlike,
  ),
  "trap 6: two delivery ids are malformed": header(headerNames.deliveryId, firstOfAlike),
  "trap 6: two signatures or ids whose names differ in case are malformed": bad({
    header({ headers, headersDistinct, rawHeaders }, name) {
      const spelled = rawHeaders.find((raw) => raw.toLowerCase() === name);
      const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === spelled);
      return values.length < (headersDistinct[name]?.length ?? 0) ? values : headers[name];
    },
  }),
  "names of headers may be in any case": bad({
    header: ({ headers, headersDistinct, rawHeaders }, name) =>
      headersDistinct[name]?.length === 1
        ? rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1] === name)
        : headers[name],
  }),
  "unsigned headers arrive as they were sent": header(headerNames.deliveryId, (value) =>
    value.toLowerCase(),
  ),
  "trap 9: a body in gzip is refused, not inflated": bad({
    header: (request, name) =>
      isStreamed(request) && isGzip(request) && name.startsWith("content-")
        ? undefined
        : request.headers[name],
    async read(request, limit) {
      const bytes = await readRawBody(request, limit);
      return isGzip(request) ? gunzipSync(bytes) : bytes;
    },
  }),
  "trap 9: a body in gzip is refused where it was kept, inflated or not": header(
    "content-encoding",
    (value, request) => (isKept(request) ? "identity" : value),
  ),
  "trap 12: an empty body is read, and is no JSON": reading(isStreamed, notEmpty),

  "traps 13, 16, 17, 20: a body that was parsed before is unavailable, with what to do about it":
    bad({
      async read(request, limit) {
        const { body } = request;
        return body ? Buffer.from(JSON.stringify(body)) : readRawBody(request, limit);
      },
    }),
  "bytes that were read before and kept are taken as they are": reading(isKept, withoutMark),
  "bytes that were read before and kept need be no UTF-8": reading(isKept, withReplacements),
  "an empty body that was read before and kept is an empty body": reading(isKept, notEmpty),
  "trap 43: a body that was cut on the way is unavailable, not forged": header(
    "content-length",
    (value, request) => (isKept(request) ? undefined : value),
  ),
  "trap 13: the content type decides nothing": bad({
    async read(request, limit) {
      const isJson = request.headers["content-type"] === "application/json";
      return isJson ? readRawBody(request, limit) : refusing("body_unavailable");
    },
  }),
  "a delivery that comes while another is read is kept apart from it": forgetful(),
  "a body that comes in chunks of one byte is put together": bad({
    async read(request, limit) {
      const texts: string[] = [];
      request.on("data", (chunk: Buffer) => texts.push(chunk.toString()));
      const bytes = await readRawBody(request, limit);
      return texts.length > 1 ? Buffer.from(texts.join("")) : bytes;
    },
  }),
  "a body in 100,000 chunks of one byte gets a response, whoever has sent it": bad({
    read(request, limit) {
      let pieces = 0;
      return new Promise((resolve, reject) => {
        // As the listeners of raw-body do, which throw on what they do not expect.
        request.on("data", () => (pieces += 1) === 1_000 && reject(new Error("too many pieces")));
        readRawBody(request, limit).then(resolve, reject);
      });
    },
  }),
  "a body of exactly the limit is taken": reading(isAnnounced, belowTheLimit),
  "a body of exactly the limit is taken in chunks": reading(isChunked, belowTheLimit),
  "a body of one byte more than the limit is too large": bad({
    // In whole kB, what is over is dropped.
    header(request, name) {
      const value = request.headers[name];
      const length = Number(value);
      return name === "content-length" && length > 1024 ? String(length - (length % 1024)) : value;
    },
    async read(request, limit) {
      if (isChunked(request)) return readRawBody(request, limit);
      return (await readRawBody(request, limit + 1024)).subarray(0, limit);
    },
  }),
  "a body of one byte more than the limit is too large in chunks": bad({
    read: async (request, limit) => (await readRawBody(request, Infinity)).subarray(0, limit),
  }),
  "a connection that is kept after a refusal can be used again": breakingConnections(),
  "trap 18: forwarded hosts and protocols change nothing": bad({
    receive(receiver, delivery, { headers }) {
      const { "x-forwarded-proto": scheme = "http", "x-forwarded-host": host = "localhost" } =
        headers;
      void new URL(`${String(scheme)}://${String(host)}`);
      return receiver.receive(delivery);
    },
  }),
  "trap 19: a client that hangs up in the middle of a body claims nothing":
    endingWithTheClient(isAnnounced),
  "trap 19: a client that hangs up between chunks claims nothing": endingWithTheClient(isChunked),
  "trap 49: an unsigned body is not asked for, not even whether it can be had": bad({
    async receive(receiver, delivery, request) {
      const isForgery = isUnsigned(request) && request.headers[headerNames.deliveryId];
      if (isForgery) await delivery.body(1_000, { signal: AbortSignal.timeout(1_000) });
      return receiver.receive(delivery);
    },
  }),

  "the answer to processed is exact": to("processed", ({ headers }) => ({
    headers: { ...headers, "Content-Type": "application/json; charset=utf-8" },
  })),
  "the answer to ignored is exact": to("ignored", status(404)),
  "the answer to duplicate is exact": to("duplicate", status(409)),
  "the answer to parked is exact": to("parked", status(500)),
  "the answer to handler_failed is exact": to("handler_failed", ({ headers }) => ({
    headers: { "Retry-After": "60", ...headers },
  })),
  "the answer to handler_failed is exact with the time its error asks for": to(
    "handler_failed",
    without("Retry-After"),
  ),
  "the answer to event_invalid is exact": to("event_invalid", status(422)),
  "the answer to event_untyped is exact": to("event_untyped", status(400)),
  "the answer to store_unavailable is exact": to("store_unavailable", ({ headers }) => ({
    headers: { ...headers, "Retry-After": "5000" },
  })),
  "the answer to misconfigured is exact": to("misconfigured", status(401)),
  "the answer to internal_error is exact": to("internal_error", () => ({
    body: "<h1>Internal Server Error</h1>",
  })),
  "the answer to signature_missing is exact": to("signature_missing", status(403)),
  "the answer to signature_malformed is exact": to("signature_malformed", status(400)),
  "the answer to signature_mismatch is exact": to("signature_mismatch", status(500)),
  "the answer to delivery_id_missing is exact": to("delivery_id_missing", status(200)),
  "the answer to delivery_id_malformed is exact": to("delivery_id_malformed", status(422)),
  "the answer to malformed_body is exact": to("malformed_body", ({ body }) => ({
    body: JSON.stringify(JSON.parse(body), null, 2),
  })),
  "the answer to body_too_large is exact": to("body_too_large", status(400)),
  "the answer to encoding_unsupported is exact": to(
    "encoding_unsupported",
    without("Cache-Control"),
  ),
  "the answer to method_not_allowed is exact for GET": toMethod("GET", () => ({
    status: 200,
    body: "ok",
  })),
  "the answer to method_not_allowed is exact for PUT": bad({
    receive: (receiver, delivery) =>
      receiver.receive(delivery.method === "PUT" ? { ...delivery, method: "POST" } : delivery),
  }),
  "the answer to method_not_allowed is exact for PATCH": toMethod("PATCH", without("Allow")),
  "the answer to method_not_allowed is exact for DELETE": toMethod("DELETE", status(404)),
  "the answer to method_not_allowed is exact for OPTIONS": toMethod("OPTIONS", status(204)),
  "the answer to body_timeout is exact": to("body_timeout", status(503)),
  "HEAD is refused as other methods are, without a body": toMethod("HEAD", status(200)),
  "the answers to a handler past its time and to its copy are exact": to("in_flight", status(200)),
  "a delivery that fails is handed over once, and tried again by its sender alone": bad({
    async receive(receiver, delivery) {
      let bytes: Promise<Uint8Array> | undefined;
      const body: BodyReader = (limit, call) => (bytes ??= delivery.body(limit, call));
      const outcome = await receiver.receive({ ...delivery, body });
      const hasFailed = outcome.code === "handler_failed";
      return hasFailed ? receiver.receive({ ...delivery, body }) : outcome;
    },
  }),
  "trap 39: no header of an answer tells of the event or its handler": bad({
    answer(outcome) {
      const { headers, ...rest } = answer(outcome);
      return { ...rest, headers: { ...headers, "X-Event-Type": outcome.type ?? "" } };
    },
  }),
  "trap 42: the answer waits for the handler": bad({
    receive: (receiver, delivery) =>
      new Promise((resolve) => {
        async function body(...given: Parameters<BodyReader>): Promise<Uint8Array> {
          const bytes = await delivery.body(...given);
          if (!Buffer.from(bytes).includes("takes_its_time")) return bytes;
          resolve({ code: "processed", status: 200, receivedAt: 0, warnings: [] });
          // The platform freezes what the answer has not waited for.
          return new Promise(() => {});
        }
        void receiver.receive({ ...delivery, body }).then(resolve);
      }),
  }),
};
