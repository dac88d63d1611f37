import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { newEventId } from "./probe.js";

/** Creates the bodies of the probes. Each call returns a body with a new event id. */
export interface Bodies {
  /** Returns compact JSON. It survives `JSON.parse` and `JSON.stringify` unchanged. */
  readonly plain: () => Uint8Array;
  /** Returns JSON that changes when it is parsed and re-serialized, for example because it repeats a key. */
  readonly exact: () => Uint8Array;
  /** Returns multi-line JSON with CR LF line endings. */
  readonly lines: () => Uint8Array;
  /** Returns JSON with two-, three- and four-byte UTF-8 characters. */
  readonly nonAscii: () => Uint8Array;
  /**
   * Returns exactly 64 KiB of JSON: more than one chunk on the wire, and less than 100 KiB, the default limit of
   * Express's body parsers.
   */
  readonly large: () => Uint8Array;
  /** Returns text that is not JSON. It is sent unsigned, to find a JSON parser that runs before the verification. */
  readonly notJson: () => Uint8Array;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const oddities = String.raw`"n": 1.0, "big": 12345678901234567890, "text": "Zo\u00eb \/", "same": 1, "same": 2`;

/** The data of an event about a sent email. */
export const sentEmail = {
  email_id: "msg_email_1",
  message_id: "msg_message_1",
  send_id: "send_1",
  status: "sent",
  subject: "Your receipt",
  from: "shop@example.com",
  recipients: { to: ["customer@example.org"] },
  message_class: "transactional",
  created_at: "2026-01-01T00:00:00.000Z",
} as const;

/**
 * Returns the functions that create the bodies of events of one type. Whatever the type, the events contain the data of
 * an `email.sent` event, because a handler may require data.
 *
 * @param sender the sender whose format the bodies have. Default: the service
 */
export function bodiesOf(type: string, sender: Sender = service): Bodies {
  const event = (data: Readonly<Record<string, unknown>> = {}) => {
    const [at, event_id] = [Date.now(), newEventId()];
    const created_at = new Date(at).toISOString();
    const own = { event_id, created_at, data: { ...sentEmail, ...data } };
    return sender.complete(own, { deliveryId: event_id, type, at });
  };
  const plain = (data?: Readonly<Record<string, unknown>>) => utf8(JSON.stringify(event(data)));
  return {
    plain: () => plain(),
    exact: () => utf8(JSON.stringify(event()).replace('"data":{', `"data": {${oddities}, `)),
    lines: () => utf8(`${JSON.stringify(event(), null, 2).replaceAll("\n", "\r\n")}\r\n`),
    nonAscii: () => plain({ text: "Grüße, 東京 😀" }),
    large: () => plain({ text: "x".repeat(65_536 - plain({ text: "" }).length) }),
    notJson: () => utf8(`${type} ${newEventId()}`),
  };
}
