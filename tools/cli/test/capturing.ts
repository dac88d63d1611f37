import { writeFileSync } from "node:fs";
import { sign } from "@svc-webhooks/core";
import { newFile, secret } from "./support.js";

export interface CaptureParts {
  readonly body: string | Uint8Array;
  readonly headers?: readonly (readonly [string, string])[];
  readonly path?: string;
  readonly verdict?: string;
  readonly at?: string;
}

/** Returns a line of a capture file, signed as the service signs. */
export async function captureLine({
  body,
  headers = [["Content-Type", "application/json"]],
  path = "/hooks",
  verdict = "genuine",
  at = "2026-11-26T10:00:00.000Z",
}: CaptureParts): Promise<string> {
  const bytes = Buffer.from(body);
  const all = [
    ["Host", "hooks.corp.test"],
    ["X-SVC-Signature", await sign(bytes, secret)],
    ["X-SVC-Delivery-Id", "dlv_1"],
    ...headers,
  ];
  const request = {
    at,
    method: "POST",
    path,
    headers: all,
    body: bytes.toString("base64"),
    verdict,
  };
  return `${JSON.stringify(request)}\n`;
}

/** Writes a capture file. */
export async function captureFile(...parts: readonly CaptureParts[]): Promise<string> {
  const file = newFile("deliveries.jsonl");
  writeFileSync(file, (await Promise.all(parts.map(captureLine))).join(""));
  return file;
}

/** A saved request with its body as text. */
export interface Saved {
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly verdict: string;
}

export const savedIn = (text: string): readonly Saved[] =>
  text
    .trimEnd()
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const request = JSON.parse(line) as Saved;
      return { ...request, body: Buffer.from(request.body, "base64").toString() };
    });
