import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import {
  collected,
  goodReceiver,
  signatureOf,
  type HandWrittenReceiver,
  type SvcEvent,
} from "./good-receiver.js";
import { accepting, bad } from "./with-mistake.js";
import {
  badAfterResponse,
  badToStrangers,
  isObserved,
  trustingUnsigned,
  variants,
} from "./bad-to-strangers.js";

/** Creates a receiver that verifies changed text instead of the bytes it received. */
const verifying = (change: (text: string) => string, finding?: string): HandWrittenReceiver =>
  bad({
    finding,
    isGenuine: (body, signature) =>
      goodReceiver.isGenuine(Buffer.from(change(body.toString())), signature),
  });

const refusing = (refusal: HandWrittenReceiver["refusal"]): HandWrittenReceiver =>
  bad({ refusal: (request) => goodReceiver.refusal(request) ?? refusal(request) });

/** Reserializes a JSON body. Returns undefined if it is not JSON. */
function reserialized(body: Buffer): string | undefined {
  try {
    return JSON.stringify(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    return undefined;
  }
}

const isChunked = ({ headers }: IncomingMessage) => headers["content-length"] === undefined;

/** Creates a receiver that keeps only the latest request and reads all signatures from it. */
function withOneRequest(): HandWrittenReceiver {
  let latest: IncomingMessage;
  return bad({
    refusal(request) {
      latest = request;
      return goodReceiver.refusal(request);
    },
    signature: () => goodReceiver.signature(latest),
  });
}

/** Creates a receiver that records ids before the body has arrived, and keeps them if the client disconnects. */
function recordingEarly(): HandWrittenReceiver {
  const ids = new Set<unknown>();
  return bad({
    async read(request) {
      const id = request.headers["x-svc-delivery-id"];
      if (ids.has(id)) return undefined;
      ids.add(id);
      const body = await collected(request);
      ids.delete(id);
      return body;
    },
  });
}

/** Creates a receiver that treats every delivery with a known delivery id as a copy of the first event with that id. */
function keepingFirstOfId(): HandWrittenReceiver {
  const events = new Map<unknown, string>();
  return bad({
    key({ event_id }, { headers }) {
      const id = headers["x-svc-delivery-id"] ?? event_id;
      const first = events.get(id) ?? event_id;
      events.set(id, first);
      return first;
    },
  });
}

/**
 * Bad receivers by the title of a case. Each fails only that case: a mistake that would fail more cases is limited to
 * that case's requests. The exception is the first receiver. It fails every case, because the others depend on its
 * case.
 */
export const badReceivers: Readonly<Record<string, () => HandWrittenReceiver>> = {
  "handles a genuine delivery and responds with 2xx": () =>
    bad({ finding: "wrong_secret", isGenuine: () => false }),
  "verifies spaces, line endings, escapes, numbers and duplicate keys as they were sent": () =>
    verifying(
      (text) => (text.includes('"big"') ? JSON.stringify(JSON.parse(text)) : text),
      "parser_before_receiver",
    ),
  "verifies non-ASCII text as bytes": () => verifying((text) => text.normalize()),
  "verifies the whole of a body of 96 KiB": () =>
    bad({
      finding: "large_refused",
      isGenuine: (body, signature) => goodReceiver.isGenuine(body.subarray(0, 4_096), signature),
    }),
  "verifies a byte order mark as part of the body, then accepts the body or refuses it like invalid JSON":
    () => verifying((text) => text.replace("\uFEFF", "")),
  "accepts a body without a Content-Length in chunks that split characters": () =>
    bad({
      async read(request) {
        if (!isChunked(request)) return collected(request);
        let text = "";
        for await (const chunk of request as AsyncIterable<Buffer>) {
          text += chunk;
          if (text.length > 1_048_576) return undefined;
        }
        return Buffer.from(text);
      },
    }),
  "handles a body that pauses while another delivery arrives": withOneRequest,
  "handles a delivery whose client has disconnected in the middle of an earlier attempt":
    recordingEarly,
  "finds headers in any case": () =>
    refusing(({ headers, rawHeaders }) =>
      headers["x-svc-signature"] && !rawHeaders.includes("x-svc-signature") ? 401 : undefined,
    ),
  "reads the body whatever its Content-Type": () =>
    refusing(({ headers }) => (headers["content-type"] === "application/json" ? undefined : 415)),

  "refuses a delivery signed with another secret, with 4xx": () =>
    accepting(
      (body, signature) => signature === signatureOf(body, "whsec_wrong"),
      "wrong_secret_accepted",
    ),
  "refuses a body that was changed or truncated": () =>
    bad({
      async read(request) {
        const body = await collected(request);
        return body && reserialized(body) === undefined
          ? Buffer.concat([body, Buffer.from("}")])
          : body;
      },
    }),
  "refuses a body that was parsed and serialized again": () =>
    accepting(
      // Only an indented body, because a line ending alone is another case.
      (body, signature) =>
        body.includes("{\n") && signature === signatureOf(reserialized(body) ?? ""),
    ),
  "refuses a delivery without a signature, whatever its other headers": () =>
    trustingUnsigned(
      ({ headers }, body) => !headers["x-forwarded-for"] && !isObserved(body),
      "unsigned_accepted",
    ),
  "refuses a delivery without a signature, whatever it lacks or who seems to send it": () =>
    trustingUnsigned(({ headers }) => headers["x-forwarded-for"] === "127.0.0.1"),
  "refuses a signature without its prefix": () =>
    accepting(
      (body, signature) => `sha256=${signature}` === signatureOf(body),
      "prefix_not_checked",
    ),
  "refuses a signature that is too short, too long or not hex, with 4xx": () =>
    accepting(
      (body, signature) =>
        /^sha256=(?:[0-9a-f]*|z+)$/.test(signature) &&
        timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(body))),
      "forgery_is_an_error",
    ),
  "refuses two signatures even if one is valid": () =>
    accepting((body, signature) => signature.split(", ").includes(signatureOf(body))),
  "refuses a compressed body whose signature covers the decompressed text": () =>
    bad({
      finding: "compressed_accepted",
      async read(request) {
        const body = await collected(request);
        const isGzip = request.headers["content-encoding"] === "gzip";
        return body && isGzip ? gunzipSync(body) : body;
      },
    }),
  "refuses an empty body with 4xx, even if it is signed": () =>
    bad({
      isGenuine(body, signature) {
        if (body.length === 0) throw new Error("there is no body");
        return goodReceiver.isGenuine(body, signature);
      },
    }),
  "refuses signed bodies that are not JSON objects, with 4xx": () =>
    bad({ parse: (body) => JSON.parse(new TextDecoder().decode(body)) as SvcEvent }),
  "refuses GET": () =>
    bad({ refusal: (request) => (request.method === "GET" ? 200 : goodReceiver.refusal(request)) }),
  "refuses a huge body, even without a Content-Length, and handles the next delivery": () =>
    bad({ read: (request) => (isChunked(request) ? buffer(request) : collected(request)) }),

  ...badToStrangers,

  "responds to unknown event types with 2xx": () =>
    bad({
      run: (records, key, handle, { type }) =>
        type in {}
          ? Promise.reject(new Error(type))
          : goodReceiver.run(records, key, handle, { type }),
      subscribes: (type) => goodReceiver.subscribes(type) || type in {},
    }),
  "handles a repeated delivery once, and responds to each copy with 2xx": () =>
    bad({
      run: async (records, key, ...rest) =>
        records.get(key) === "done" ? 409 : goodReceiver.run(records, key, ...rest),
    }),
  "responds to a copy with 2xx only after the handler has succeeded": () =>
    bad({
      run: async (records, key, ...rest) =>
        records.has(key) ? 200 : goodReceiver.run(records, key, ...rest),
    }),
  "runs the handler once for copies that arrive at the same time": () =>
    bad({
      async run(records, key, handle) {
        if (!records.has(key)) await handle();
        records.set(key, "done");
        return 200;
      },
    }),
  "responds with a 4xx or 5xx status if the handler fails": () =>
    bad({
      run: (...run) =>
        Promise.race([goodReceiver.run(...run).catch(() => pause(150, 200)), pause(150, 202)]),
    }),
  "runs a failed handler again on the next attempt": () =>
    bad({
      async run(records, key, handle, event) {
        try {
          return await goodReceiver.run(records, key, handle, event);
        } catch (error) {
          records.set(key, "done");
          throw error;
        }
      },
    }),
  "does not reveal the message or stack of the handler's error": () =>
    bad({ failure: (error) => String((error as Error).stack) }),
  "does not handle a captured body again under another delivery id or without one": () =>
    bad({ key: ({ event_id }, { headers }) => event_id + String(headers["x-svc-delivery-id"]) }),
  "handles an event even if a captured body was sent under its delivery id": keepingFirstOfId,
  ...badAfterResponse,
};

/** All bad receivers, in the contract's order, and then other ways to make the same mistakes. */
export const planted: typeof variants = [
  ...Object.entries(badReceivers).map(([title, make]) => [title, "", make] as const),
  ...variants,
];
