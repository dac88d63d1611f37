import { appendFileSync, closeSync, fchmodSync, fstatSync, openSync, readSync } from "node:fs";
import type { HeaderList } from "./target.js";
import { UsageError } from "../errors.js";
import { assertNotLinked, notWritable } from "./write.js";

/** A request in a capture file. `listen --save` writes it as one line of JSON, with the body in base64. */
export interface Captured {
  /** The time of arrival, ISO 8601 in UTC. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  /**
   * The headers in their original order. In files, `…` replaces the values of `Authorization`, `Proxy-Authorization`
   * and `Cookie`.
   */
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** `genuine`, or the outcome code of the problem. */
  readonly verdict: string;
}

export interface CaptureFile {
  /** Appends a request. Throws if it could not be written. */
  readonly write: (captured: Captured) => void;
  readonly close: () => void;
}

/** The hint that all commands print for a file that is not a capture file. */
export const useCaptureFile = "Use a file written by svc-webhooks listen --save.";

const credentials = /^(?:authorization|proxy-authorization|cookie)$/i;

/**
 * Opens a capture file for appending. A regular file gets mode 0600.
 *
 * @param isNew whether the file must be empty, or not exist yet
 * @throws UsageError if the file cannot be opened, has content although it must be new, or is a symbolic link to a file
 */
export function openCapture(flag: string, name: string, isNew = false): CaptureFile {
  const file = open(flag, name, isNew);
  let start = "";
  return {
    write({ at, method, path, headers, body, verdict }) {
      const kept = headers.map(([header, value]) => [
        header,
        credentials.test(header) ? "…" : value,
      ]);
      const request = { at, method, path, headers: kept, body: body.toString("base64"), verdict };
      const line = `${start}${JSON.stringify(request)}\n`;
      // If appending fails, part of the line may have been written, so the next line starts with a line break.
      start = "\n";
      appendFileSync(file, line);
      start = "";
    },
    close: () => closeSync(file),
  };
}

function open(flag: string, name: string, isNew: boolean): number {
  try {
    assertNotLinked(flag, name);
    const file = openSync(name, "a+", 0o600);
    const stats = fstatSync(file);
    if (isNew && stats.size > 0) {
      closeSync(file);
      throw new UsageError(
        `${flag} already has content that may be unredacted.`,
        "Choose a new file: redacted requests are not appended to others.",
      );
    }
    if (!stats.isFile()) return file;
    fchmodSync(file, 0o600);
    const last = Buffer.alloc(1);
    // Ends the last line if a killed process has left it incomplete.
    if (stats.size > 0 && readSync(file, last, 0, 1, stats.size - 1) === 1 && last[0] !== 10) {
      appendFileSync(file, "\n");
    }
    return file;
  } catch (error) {
    throw notWritable(flag, error);
  }
}

/** Parses a line of a capture file. Returns undefined if the line is not well-formed. */
export function parseCaptured(line: string): Captured | undefined {
  try {
    const value = JSON.parse(line) as Partial<Record<keyof Captured, unknown>> | null;
    const { at, method, path, headers, body, verdict } = value ?? {};
    const texts = [at, method, path, body, verdict];
    if (!texts.every((text) => typeof text === "string") || !isHeaderList(headers))
      return undefined;
    if (!token.test(method as string)) return undefined;
    const bytes = Buffer.from(body as string, "base64");
    if (bytes.toString("base64") !== body) return undefined;
    return { ...(value as Captured), body: bytes };
  } catch {
    return undefined;
  }
}

/** Matches an HTTP method, which is a token (RFC 9110, section 5.6.2). */
const token = /^[\w!#$%&'*+.^`|~-]+$/;

const isHeaderList = (headers: unknown): headers is HeaderList =>
  Array.isArray(headers) &&
  headers.every(
    (pair) =>
      Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string"),
  );
