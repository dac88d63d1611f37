import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import {
  answer,
  BodyError,
  type Answer,
  type BodyReader,
  type HeaderValue,
  type Outcome,
  type OutcomeCode,
} from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { readRawBody } from "@svc-webhooks/node";
import type { TouchedRequest } from "@svc-webhooks/kit/servers";
import { goodAdapter, type Adapter } from "./good-adapter.js";

type Matches = (request: TouchedRequest) => boolean;

const isKept: Matches = ({ rawBody }) => rawBody !== undefined;
const isStreamed: Matches = ({ rawBody }) => rawBody === undefined;
const isChunked: Matches = ({ headers }) => headers["content-length"] === undefined;
const isAnnounced: Matches = ({ headers }) => headers["content-length"] !== undefined;
const isGzip: Matches = ({ headers }) => headers["content-encoding"] === "gzip";
const isUnsigned: Matches = ({ headers }) => headers[headerNames.signature] === undefined;

const bad = (mistake: Partial<Adapter>): Adapter => ({ ...goodAdapter, ...mistake });

/** Creates an adapter that changes the body bytes of matching requests. */
const reading = (matches: Matches, change: (bytes: Buffer, limit: number) => Uint8Array): Adapter =>
  bad({
    async read(request, limit) {
      const bytes = Buffer.from(await readRawBody(request, limit));
      return matches(request) ? change(bytes, limit) : bytes;
    },
  });

/** Creates an adapter that changes the text of streamed bodies. Decoding as Latin-1 preserves every byte. */
const rewriting = (change: (text: string) => string): Adapter =>
  reading(isStreamed, (bytes) => Buffer.from(change(bytes.toString("latin1")), "latin1"));

// The byte order mark is removed only from valid UTF-8, because replacement characters are a separate mistake.
const withoutMark = (bytes: Buffer) =>
  isUtf8(bytes) ? Buffer.from(new TextDecoder().decode(bytes)) : bytes;
const withReplacements = (bytes: Buffer) => Buffer.from(bytes.toString());

const refusing = (code: "body_unavailable" | "body_too_large") => {
  throw new BodyError(code);
};

const notEmpty = (bytes: Buffer) => (bytes.length > 0 ? bytes : refusing("body_unavailable"));
const belowTheLimit = (bytes: Buffer, limit: number) =>
  bytes.length < limit ? bytes : refusing("body_too_large");

/** Creates an adapter that treats a client's disconnection as the end of the body. */
const endingWithTheClient = (matches: Matches): Adapter =>
  bad({
    read: (request, limit) =>
      readRawBody(request, limit).catch((error: BodyError) => {
        if (error.code === "aborted" && matches(request)) return new Uint8Array();
        throw error;
      }),
  });

/** Creates an adapter that changes the value of one header. */
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
  matches: (outcome: Outcome, request: TouchedRequest) => boolean,
  change: AnswerChange,
): Adapter =>
  bad({
    answer(outcome, request) {
      const right = answer(outcome);
      return matches(outcome, request) ? { ...right, ...change(right) } : right;
    },
  });

// A scheme's reply has a case of its own.
const to = (code: OutcomeCode, change: AnswerChange) =>
  answering((outcome) => outcome.code === code && outcome.reply === undefined, change);

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

const setting =
  (name: string, value: string): AnswerChange =>
  ({ headers }) => ({ headers: { ...headers, [name]: value } });

/** Returns adapters that each change the response for one outcome code, by the title of the case that they fail. */
const changed = (changes: Partial<Record<OutcomeCode, AnswerChange>>) =>
  Object.fromEntries(
    Object.entries(changes).map(([code, change]) => [
      `sends the exact response for ${code}`,
      // `Object.entries` widens the keys to strings, but `code` is a key of `changes`.
      to(code as OutcomeCode, change),
    ]),
  );

/** Creates an adapter that keeps only the latest request and reads the headers of all pending deliveries from it. */
function forgetful(): Adapter {
  let current: TouchedRequest;
  return bad({
    receive(receiver, delivery, request) {
      current = request;
      return receiver.receive({ ...delivery, headers: (name) => current.headers[name] });
    },
  });
}

/** Returns the first of several values if their header names are all spelled alike, and the joined value otherwise. */
function firstOfAlike(value: string, { rawHeaders }: TouchedRequest): HeaderValue {
  const [first, ...others] = value.split(", ");
  const names = rawHeaders.filter((_name, at) => rawHeaders[at + 1] === first && at % 2 === 0);
  return new Set(names).size === 1 && others.length > 0 ? first : value;
}

/**
 * Simulates an adapter that leaves the rest of an oversized body on the connection, where it is treated as the next
 * request.
 */
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
 * Bad adapters by the title of a case. Each fails only that case: a mistake that would fail more cases is limited to
 * that case's requests.
 */
export const badAdapters: Readonly<Record<string, Adapter>> = {
  "verifies a byte order mark as part of the body": reading(isStreamed, withoutMark),
  "verifies bytes that are not UTF-8 unchanged and rejects them as malformed": reading(
    isStreamed,
    withReplacements,
  ),
  "passes $&, $$ and $` in a body on unchanged": rewriting((text) =>
    "{body}".replace("{body}", text),
  ),
  "never re-serializes a parsed body": rewriting((text) =>
    text.startsWith("{ ") ? JSON.stringify(JSON.parse(text)) : text,
  ),
  "passes line endings on unchanged": rewriting((text) => text.replaceAll("\r\n", "\n")),
  "accepts upper-case digits in a signature": header(headerNames.signature, (value) =>
    /^sha256=.*[A-F]/.test(value) ? "malformed" : value,
  ),
  "rejects an upper-case signature prefix as malformed": header(headerNames.signature, (value) =>
    value.toLowerCase(),
  ),
  "rejects two signatures as malformed even if one is valid": header(
    headerNames.signature,
    firstOfAlike,
  ),
  "rejects two delivery ids as malformed": header(headerNames.deliveryId, firstOfAlike),
  "rejects two signatures or ids whose header names differ in case": bad({
    header({ headers, headersDistinct, rawHeaders }, name) {
      const spelled = rawHeaders.find((raw) => raw.toLowerCase() === name);
      const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === spelled);
      return values.length < (headersDistinct[name]?.length ?? 0) ? values : headers[name];
    },
  }),
  "accepts header names in any case": bad({
    header: ({ headers, headersDistinct, rawHeaders }, name) =>
      headersDistinct[name]?.length === 1
        ? rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1] === name)
        : headers[name],
  }),
  "passes unsigned headers on unchanged": header(headerNames.deliveryId, (value) =>
    value.toLowerCase(),
  ),
  "rejects a gzip body instead of decompressing it": bad({
    header: (request, name) =>
      isStreamed(request) && isGzip(request) && name.startsWith("content-")
        ? undefined
        : request.headers[name],
    async read(request, limit) {
      const bytes = await readRawBody(request, limit);
      return isGzip(request) ? gunzipSync(bytes) : bytes;
    },
  }),
  "rejects a gzip body that middleware has kept, decompressed or not": header(
    "content-encoding",
    (value, request) => (isKept(request) ? "identity" : value),
  ),
  "reads an empty body and rejects it as malformed": reading(isStreamed, notEmpty),

  "reports a body that was already parsed as unavailable and logs the fix": bad({
    async read(request, limit) {
      const { body } = request;
      return body ? Buffer.from(JSON.stringify(body)) : readRawBody(request, limit);
    },
  }),
  "uses the exact bytes that middleware has kept": reading(isKept, withoutMark),
  "verifies kept bytes that are not UTF-8 unchanged": reading(isKept, withReplacements),
  "accepts empty kept bytes as an empty body": reading(isKept, notEmpty),
  "reports a truncated body as unavailable, not as forged": header(
    "content-length",
    (value, request) => (isKept(request) ? undefined : value),
  ),
  "ignores the content type": bad({
    async read(request, limit) {
      const isJson = request.headers["content-type"] === "application/json";
      return isJson ? readRawBody(request, limit) : refusing("body_unavailable");
    },
  }),
  "keeps concurrent deliveries separate": forgetful(),
  "joins a body that arrives in one-byte chunks": bad({
    async read(request, limit) {
      const texts: string[] = [];
      request.on("data", (chunk: Buffer) => texts.push(chunk.toString()));
      const bytes = await readRawBody(request, limit);
      return texts.length > 1 ? Buffer.from(texts.join("")) : bytes;
    },
  }),
  "responds to a body in 20,000 one-byte chunks, whether its signature is valid or not": bad({
    read(request, limit) {
      let pieces = 0;
      return new Promise((resolve, reject) => {
        // Fails the read at the 1,000th piece.
        request.on("data", () => (pieces += 1) === 1_000 && reject(new Error("too many pieces")));
        readRawBody(request, limit).then(resolve, reject);
      });
    },
  }),
  "accepts a body of exactly the limit": reading(isAnnounced, belowTheLimit),
  "accepts a chunked body of exactly the limit": reading(isChunked, belowTheLimit),
  "rejects a body of one byte more than the limit": bad({
    // Rounds the content length down to whole KiB.
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
  "rejects a chunked body of one byte more than the limit": bad({
    read: async (request, limit) => (await readRawBody(request, Infinity)).subarray(0, limit),
  }),
  "processes the next delivery on a connection that was kept after a rejection":
    breakingConnections(),
  "ignores forwarded hosts and protocols": bad({
    receive(receiver, delivery, { headers }) {
      const { "x-forwarded-proto": scheme = "http", "x-forwarded-host": host = "localhost" } =
        headers;
      void new URL(`${String(scheme)}://${String(host)}`);
      return receiver.receive(delivery);
    },
  }),
  "claims nothing if the client disconnects in the middle of a body":
    endingWithTheClient(isAnnounced),
  "claims nothing if the client disconnects between chunks": endingWithTheClient(isChunked),
  "neither reads an unsigned body nor checks whether it is available": bad({
    async receive(receiver, delivery, request) {
      const isForgery = isUnsigned(request) && request.headers[headerNames.deliveryId];
      if (isForgery) await delivery.body(1_000, { signal: AbortSignal.timeout(1_000) });
      return receiver.receive(delivery);
    },
  }),

  ...changed({
    processed: setting("Content-Type", "application/json; charset=utf-8"),
    ignored: status(404),
    duplicate: status(409),
    parked: status(500),
    handler_failed: ({ headers }) => ({ headers: { "Retry-After": "60", ...headers } }),
  }),
  "sends the exact response for handler_failed with the retryAfterMs of its error": to(
    "handler_failed",
    without("Retry-After"),
  ),
  ...changed({
    event_invalid: status(422),
    event_untyped: status(400),
    store_unavailable: setting("Retry-After", "5000"),
    misconfigured: status(401),
    internal_error: () => ({ body: "<h1>Internal Server Error</h1>" }),
    signature_missing: status(403),
    signature_malformed: status(400),
    signature_mismatch: status(500),
    delivery_id_missing: status(200),
    delivery_id_malformed: status(422),
    malformed_body: ({ body }) => ({ body: JSON.stringify(JSON.parse(body), null, 2) }),
    body_too_large: status(400),
    encoding_unsupported: without("Cache-Control"),
  }),
  "sends the exact response for method_not_allowed to GET": toMethod("GET", status(200)),
  "sends the exact response for method_not_allowed to PUT": bad({
    receive: (receiver, delivery) =>
      receiver.receive(delivery.method === "PUT" ? { ...delivery, method: "POST" } : delivery),
  }),
  "sends the exact response for method_not_allowed to PATCH": toMethod("PATCH", without("Allow")),
  "sends the exact response for method_not_allowed to DELETE": toMethod("DELETE", status(404)),
  "sends the exact response for method_not_allowed to OPTIONS": toMethod("OPTIONS", status(204)),
  "sends the exact response for body_timeout": to("body_timeout", status(503)),
  "rejects HEAD like other methods, but without a body": toMethod("HEAD", status(200)),
  "sends the exact responses for a timed-out handler and for a concurrent copy": to(
    "in_flight",
    status(200),
  ),
  "sends the reply of a scheme unchanged, and no body with 204": answering(
    ({ code, reply }) => code !== "handshake" && reply !== undefined,
    () => answer({ code: "processed", status: 200, receivedAt: 0, warnings: [] }),
  ),
  "passes the query of a GET request on unchanged": bad({
    receive: (receiver, delivery) =>
      receiver.receive({ ...delivery, url: delivery.url?.split("?", 1)[0] }),
  }),
  "passes a failing delivery on once and leaves retries to the sender": bad({
    async receive(receiver, delivery) {
      let bytes: ReturnType<BodyReader> | undefined;
      const body: BodyReader = (limit, call) => (bytes ??= delivery.body(limit, call));
      const outcome = await receiver.receive({ ...delivery, body });
      const hasFailed = outcome.code === "handler_failed";
      return hasFailed ? receiver.receive({ ...delivery, body }) : outcome;
    },
  }),
  "reveals nothing about the event or its handler in the response headers": bad({
    answer(outcome) {
      const { headers, ...rest } = answer(outcome);
      return { ...rest, headers: { ...headers, "X-Event-Type": outcome.type ?? "" } };
    },
  }),
  "waits for the handler before it responds": bad({
    receive: (receiver, delivery) =>
      new Promise((resolve) => {
        async function body(...given: Parameters<BodyReader>): Promise<Uint8Array> {
          const bytes = await delivery.body(...given);
          if (!Buffer.from(bytes).includes("takes_its_time")) return bytes;
          resolve({ code: "processed", status: 200, receivedAt: 0, warnings: [] });
          // Simulates a platform that freezes work once the response is sent.
          return new Promise(() => {});
        }
        void receiver.receive({ ...delivery, body }).then(resolve);
      }),
  }),
};
