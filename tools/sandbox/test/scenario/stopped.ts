import { expect } from "vitest";
import type { Opened } from "../support.js";

interface File {
  readonly name: string;
  readonly assumptions?: Readonly<Record<string, string>>;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
}

/** Stops the recording, and returns its file and its state. */
export async function stopped(opened: Opened, name = "recorded") {
  const { status, body } = await opened.control("POST recording/stop", { name });
  expect(status).toBe(200);
  const { text, headers } = await opened.control("GET recording");
  expect(headers.get("content-disposition")).toBe(`attachment; filename="${name}.json"`);
  return { text, file: JSON.parse(text) as File, state: body };
}
