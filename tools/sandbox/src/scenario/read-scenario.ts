import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { messageOf, wrongUsage } from "../errors.js";
import { mostBytes } from "./format.js";

/** Returns the path of the folder with the scenarios that the package contains. */
const folder = () =>
  join(
    dirname(createRequire(import.meta.url).resolve("@svc-webhooks/sandbox/package.json")),
    "scenarios",
  );

/** Returns the names of the scenarios that the package contains. */
const shippedScenarios = (): readonly string[] =>
  readdirSync(folder())
    .map((file) => file.replace(/\.json$/, ""))
    .toSorted();

/**
 * Reads the JSON of a scenario.
 *
 * @param named the path of a file, or the name of a scenario that the package contains
 * @throws WebhookError `wrong_usage` if there is no such scenario, or its file cannot be read as JSON
 */
export function readScenario(named: string): unknown {
  const isName = /^[a-z][a-z0-9-]*$/.test(named);
  if (isName && !shippedScenarios().includes(named))
    throw wrongUsage(
      `There is no scenario ${named}. The package contains ${shippedScenarios().join(", ")}. For a file, use a path such as ./${named}.json.`,
    );
  const path = isName ? join(folder(), `${named}.json`) : named;
  try {
    return JSON.parse(contentOf(path));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw wrongUsage(`The scenario file ${path} is not valid JSON: ${messageOf(error)}.`);
    throw error;
  }
}

function contentOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  // This check comes before the file is opened, because opening a FIFO would block.
  if (!stats?.isFile())
    throw wrongUsage(
      `The scenario file ${path} ${stats ? "is not a regular file" : "does not exist"}. Use the path of a JSON file.`,
    );
  if (stats.size > mostBytes)
    throw wrongUsage(
      `The scenario file ${path} is larger than 1 MiB. Split it into several scenarios.`,
    );
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw wrongUsage(`The scenario file ${path} cannot be read: ${messageOf(error)}.`);
  }
  try {
    // A NUL byte is a sign of UTF-16, which the decoder may accept if there is no byte order mark.
    if (bytes.includes(0)) throw new TypeError("a NUL byte");
    // The decoder removes a byte order mark, which `JSON.parse` would reject.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw wrongUsage(`The scenario file ${path} is not UTF-8 text. Save it as UTF-8.`);
  }
}
