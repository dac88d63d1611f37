import { fixture } from "../../fixture.js";
import { expectAccepted, isAccepted } from "../probe.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";

/** Returns a function that creates an event with this subject. Re-serializing its JSON does not change the text. */
const titled = (subject: string) => (event_id: string) =>
  fixture("email.sent", { event_id, data: { subject } });

/** The start of an object, with members whose text changes when it is parsed and re-serialized. */
const unusual =
  '{ "n":1.0,\r\n"e":1e3, "u":"\\u00e9\\/", "k":1, "k":2, "2":0, "1":0, "big":12345678901234567890, "z":-0, "price":"$& $$", ';

const withUnusual = (json: string) => `${json.replace("{", () => unusual)}\r\n `;
/** The length of a large event's subject, in bytes. The whole body stays below 100 KiB, Express's default limit. */
const largeBytes = 96 * 1_024;
const marked = (json: string) => `\uFEFF${json}`;

/** Cases with genuine deliveries whose bytes or headers a faulty receiver changes, loses or misreads. */
export const bytes: readonly ReceiverCase[] = [
  {
    title: "verifies spaces, line endings, escapes, numbers and duplicate keys as they were sent",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "Parsing JSON and serializing it again may change its bytes. Verify the raw body before any parser runs.",
    run: async (probe) => probe.handles(await probe.delivery(undefined, { change: withUnusual })),
  },
  {
    title: "verifies non-ASCII text as bytes",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "Decoding text and encoding it again may change its bytes. Verify the bytes, not a string.",
    run: async (probe) => probe.handles(await probe.delivery(titled("Gru\u0308ße, 東京 😀"))),
  },
  {
    title: "verifies the whole of a body of 96 KiB",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "The signature covers every byte, however large the body is. Read the whole body before you verify it.",
    async run(probe) {
      const large = await probe.delivery(titled("x".repeat(largeBytes)));
      const reply = await probe.send(large);
      // Each receiver chooses its own size limit, so this is only a minor failure.
      if (reply.status === 413) return probe.isMinor("A body of 96 KiB got a 413 response.");
      expectAccepted(reply);
      await probe.ranOnce(large.eventId);
      const changed = Buffer.from(large.body);
      changed.write("y", changed.lastIndexOf("x".repeat(64)));
      await probe.isRefused({ ...large, body: changed }, "A body that was changed near its end");
      await probe.ranOnce(large.eventId);
    },
  },
  {
    title:
      "verifies a byte order mark as part of the body, then accepts the body or refuses it like invalid JSON",
    level: "should",
    source: sources.byteOrderMark,
    fix: "Decoding the body may remove the mark, which is part of the signed bytes. Verify the bytes first, then decode them. You may accept the mark, as TextDecoder does, or refuse it, as JSON.parse does (RFC 8259, section 8.1).",
    async run(probe) {
      const delivery = await probe.delivery(undefined, { change: marked });
      const reply = await probe.send(delivery);
      if (isAccepted(reply)) return probe.ranOnce(delivery.eventId);
      const { status } = await probe.send(await probe.delivery(() => "{"));
      if (reply.status !== status) {
        throw new Error(
          `A byte order mark got a ${reply.status} response, but invalid JSON got a ${status} response.`,
        );
      }
      probe.expectRefused(reply, "A byte order mark");
      probe.neverRan("A byte order mark");
    },
  },
  {
    title: "accepts a body without a Content-Length in chunks that split characters",
    level: "must",
    source: sources.chunked,
    fix: "Chunks can end anywhere, even inside a character. Join them as bytes, and do not rely on Content-Length.",
    async run(probe) {
      const delivery = await probe.delivery(titled("東京 😀"));
      const reply = await probe.send({ ...delivery, chunkBytes: 1 });
      // A server may refuse a request without a Content-Length (RFC 9112, section 6.3).
      if (reply.status === 411) return probe.isMinor("A body without a Content-Length got a 411.");
      expectAccepted(reply);
      await probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "handles a body that pauses while another delivery arrives",
    level: "should",
    source: sources.stateless,
    fix: "The chunks of concurrent requests can arrive interleaved. Wait for the end of each body, and never store a request's state outside that request.",
    async run(probe) {
      const slow = await probe.delivery();
      const { finish } = await probe.begin(slow);
      await probe.handles(await probe.delivery());
      expectAccepted(await finish(), "A body that paused");
      await probe.ranOnce(slow.eventId);
    },
  },
  {
    title: "handles a delivery whose client has disconnected in the middle of an earlier attempt",
    level: "should",
    source: sources.incomplete,
    showsOnlyInRuns: true,
    fix: "An incomplete body must not leave a record. Record an id only after you have verified the signature of the whole body.",
    async run(probe) {
      const delivery = await probe.delivery();
      const { hangUp } = await probe.begin(delivery);
      await hangUp();
      await probe.handles(delivery);
    },
  },
  {
    title: "finds headers in any case",
    level: "must",
    source: sources.fieldNames,
    fix: "Header names are case-insensitive. Look them up in lower case, or use the framework's own method.",
    async run(probe) {
      const delivery = await probe.delivery();
      const upper = Object.entries(delivery.headers).map(([name, value]) => [
        name.toUpperCase(),
        value,
      ]);
      await probe.handles({ ...delivery, headers: Object.fromEntries(upper) });
    },
  },
  {
    title: "reads the body whatever its Content-Type",
    level: "should",
    source: sources.contentType,
    fix: "A parser for one Content-Type does not read other bodies. Read the raw body, whatever its type.",
    async run(probe) {
      for (const type of [undefined, "text/plain", "application/json; charset=utf-8"]) {
        const delivery = await probe.delivery(undefined, { headers: { "content-type": type } });
        await probe.handles(delivery);
      }
    },
  },
];
