import { fixture } from "../../fixture.js";
import { expectAccepted, expectRefused, isAccepted } from "../probe.js";
import type { ReceiverCase } from "./case.js";

/** Returns an event with this subject that survives parsing and serialising unchanged. */
const titled = (subject: string) => (event_id: string) =>
  fixture("email.sent", { event_id, data: { subject } });

/** Members whose text changes when it is parsed and serialised again. */
const unusual =
  '{ "n":1.0,\r\n"e":1e3, "u":"\\u00e9\\/", "k":1, "k":2, "2":0, "1":0, "big":12345678901234567890, "z":-0, "price":"$& $$", ';

const withUnusual = (json: string) => json.replace("{", () => unusual);
const marked = (json: string) => `\uFEFF${json}`;

/** Genuine deliveries whose bytes receivers change, lose or misread. */
export const bytes: readonly ReceiverCase[] = [
  {
    title: "verifies spaces, line ends, escapes, numbers and duplicate keys as they were sent",
    fix: "JSON that is parsed and serialised again has different bytes: verify the raw body before any parser runs.",
    run: async (probe) => probe.handles(await probe.delivery(undefined, { change: withUnusual })),
  },
  {
    title: "verifies non-ASCII text as bytes",
    fix: "Text that is decoded and encoded again may have different bytes: verify the bytes, not a string.",
    run: async (probe) => probe.handles(await probe.delivery(titled("Gru\u0308ße, 東京 😀"))),
  },
  {
    title:
      "verifies a byte order mark with the body, and accepts it or refuses it as it does bad JSON",
    fix: "Decoding drops the mark from the signed bytes: verify the bytes, then decode them. TextDecoder removes the mark and JSON.parse rejects it; both are correct (RFC 8259, section 8.1).",
    async run(probe) {
      const delivery = await probe.delivery(undefined, { change: marked });
      const reply = await probe.send(delivery);
      if (isAccepted(reply)) return probe.ranOnce(delivery.eventId);
      const { status } = await probe.send(await probe.delivery(() => "{"));
      if (reply.status !== status) {
        throw new Error(`A byte order mark got ${reply.status}, and bad JSON ${status}.`);
      }
      expectRefused(reply, "A byte order mark");
      probe.neverRan("A byte order mark");
    },
  },
  {
    title: "joins a body in chunks that split its characters, without a Content-Length",
    fix: "Chunks can end anywhere, even inside a character: join them as bytes, and do not rely on Content-Length.",
    async run(probe) {
      const delivery = await probe.delivery(titled("東京 😀"));
      await probe.handles({ ...delivery, chunkBytes: 1 });
    },
  },
  {
    title: "handles a body that pauses while another delivery arrives",
    fix: "The chunks of concurrent requests interleave: wait for the end of each body, and never keep a request's state outside that request.",
    async run(probe) {
      const slow = await probe.delivery();
      const { finish } = await probe.begin(slow);
      await probe.handles(await probe.delivery());
      expectAccepted(await finish(), "A body that paused");
      probe.ranOnce(slow.eventId);
    },
  },
  {
    title: "handles a delivery whose client has disconnected in the middle of an earlier attempt",
    fix: "Half a body must leave no trace: record an id only after the signature of the whole body is verified.",
    async run(probe) {
      const delivery = await probe.delivery();
      const { hangUp } = await probe.begin(delivery);
      await hangUp();
      await probe.handles(delivery);
    },
  },
  {
    title: "finds headers in any case",
    fix: "Header names are case-insensitive: look them up in lower case, or through the framework.",
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
    fix: "A parser for one Content-Type leaves other bodies unread: read the raw body for every type.",
    async run(probe) {
      for (const type of [undefined, "text/plain", "application/json; charset=utf-8"]) {
        const delivery = await probe.delivery(undefined, { headers: { "content-type": type } });
        await probe.handles(delivery);
      }
    },
  },
];
