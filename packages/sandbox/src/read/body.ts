import { createHash } from "node:crypto";
import type { Captured } from "../state/records.js";

/** Bytes that are shown unless all are asked for. */
const shownBytes = 16_384;

export interface BodyShape {
  /** The full length; a lower bound if the receiver's response was cut. */
  readonly bytes: number;
  /** Absent if not all bytes were kept. */
  readonly sha256?: string;
  /** Present if the shown bytes are UTF-8. */
  readonly text?: string;
  readonly base64?: string;
  /** The bytes that `text` or `base64` has. */
  readonly shown: number;
  readonly truncated: boolean;
}

export function bodyShape({ content, bytes, truncated }: Captured, full: boolean): BodyShape {
  const part = full ? content : content.subarray(0, shownBytes);
  const text = strictText(part, part.length < bytes);
  const shown = text === undefined ? part.length : Buffer.byteLength(text);
  return {
    bytes,
    ...(truncated ? {} : { sha256: createHash("sha256").update(content).digest("hex") }),
    ...(text === undefined ? { base64: Buffer.from(part).toString("base64") } : { text }),
    shown,
    truncated: shown < bytes,
  };
}

/** Everything of bytes that were never cut. */
export const whole = (content: Uint8Array): Captured => ({
  content,
  bytes: content.length,
  truncated: false,
});

/** The text of bytes in UTF-8; undefined for others. A character that was cut at the end is left out. */
export function strictText(bytes: Uint8Array, isCut = false): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}
