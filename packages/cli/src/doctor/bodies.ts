import { newEventId, probeType } from "./probe.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns an event with all fields that receivers may require: those of `email.sent`. */
const event = (data: Readonly<Record<string, unknown>> = {}) => ({
  event_id: newEventId(),
  type: probeType,
  created_at: new Date().toISOString(),
  data: {
    email_id: "msg_email_1",
    message_id: "msg_message_1",
    send_id: "send_1",
    status: "sent",
    subject: "Your receipt",
    from: "shop@example.com",
    recipients: { to: ["customer@example.org"] },
    message_class: "transactional",
    created_at: "2026-01-01T00:00:00.000Z",
    ...data,
  },
});

/** Returns JSON that survives parsing and serialising unchanged. */
export const plain = (data?: Readonly<Record<string, unknown>>): Uint8Array =>
  utf8(JSON.stringify(event(data)));

const oddities = String.raw`"n": 1.0, "big": 12345678901234567890, "text": "Zo\u00eb \/", "same": 1, "same": 2`;

/** Returns JSON that every serialiser writes differently. */
export const exact = (): Uint8Array =>
  utf8(JSON.stringify(event()).replace('"data":{', `"data": {${oddities}, `));

/** Returns JSON in lines that end with CR LF. */
export const lines = (): Uint8Array =>
  utf8(`${JSON.stringify(event(), null, 2).replaceAll("\n", "\r\n")}\r\n`);

/** Returns JSON with characters of two, three and four bytes. */
export const nonAscii = (): Uint8Array => plain({ text: "Grüße, 東京 😀" });

/**
 * Returns exactly 64 KiB: more than one piece on the wire, and less than the 100 kB at which body parsers stop
 * by default.
 */
export const large = (): Uint8Array =>
  plain({ text: "x".repeat(65_536 - plain({ text: "" }).length) });

/** Returns a body for unsigned requests only, which no receiver may accept as an event. */
export const notJson = (): Uint8Array => utf8(`${probeType} ${newEventId()}`);
