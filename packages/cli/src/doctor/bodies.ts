import { randomUUID } from "node:crypto";
import { probeType } from "./probe.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const id = () => `evt_doctor_${randomUUID()}`;

/** JSON that parsing and serialising again does not change. */
export const plain = (more: object = {}): Uint8Array =>
  utf8(JSON.stringify({ type: probeType, event_id: id(), ...more }));

/** JSON that every serialiser writes differently. */
export const exact = (): Uint8Array =>
  utf8(
    String.raw`{"type": "${probeType}", "event_id": "${id()}", "n": 1.0, "big": 12345678901234567890, "text": "Zo\u00eb \/", "same": 1, "same": 2}`,
  );

/** JSON in lines that end with CR LF. */
export const lines = (): Uint8Array =>
  utf8(`{\r\n  "type": "${probeType}",\r\n  "event_id": "${id()}"\r\n}\r\n`);

/** JSON with characters of two, three and four bytes. */
export const nonAscii = (): Uint8Array => plain({ text: "Grüße, 東京 😀" });

/** More than one piece on its way, and less than the 100 kB at which body parsers stop by default. */
export const large = (): Uint8Array => plain({ text: "x".repeat(65_536) });

/** For unsigned requests only: no receiver may take it for an event. */
export const notJson = (): Uint8Array => utf8(`${probeType} ${id()}`);
