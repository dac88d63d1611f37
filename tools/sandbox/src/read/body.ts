import { createHash } from "node:crypto";
import type { Captured } from "../state/records.js";

/** The maximum number of a body's bytes that are shown unless `full` is set. */
const shownBytes = 16_384;

export interface BodyShape {
  /** The length of the whole body, or a lower bound of it if a receiver's response was truncated. */
  readonly bytes: number;
  /** The hash of the whole body. Absent if not all of its bytes were kept. */
  readonly sha256?: string;
  /** Present if the shown bytes are valid UTF-8. Otherwise, `base64` is present. */
  readonly text?: string;
  readonly base64?: string;
  /** The number of bytes that `text` or `base64` represents. */
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

/** Returns a capture of bytes that are stored in full. */
export const whole = (content: Uint8Array): Captured => ({
  content,
  bytes: content.length,
  truncated: false,
});

/**
 * Decodes bytes as UTF-8. Returns undefined if they are not valid. With `isCut`, omits an incomplete last character.
 */
export function strictText(bytes: Uint8Array, isCut = false): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}
