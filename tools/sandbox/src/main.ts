#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { WebhookError } from "@svc-webhooks/core";
import { codeOf } from "@svc-webhooks/core/adapter";
import { commandOptions, runCommand } from "./command.js";

const options = {
  ...commandOptions,
  json: { type: "boolean", text: "write JSON" },
  version: { type: "boolean", text: "print the version and exit" },
  help: { type: "boolean", short: "h", text: "print this help and exit" },
} as const;

interface Help {
  readonly short?: string;
  readonly value?: string;
  readonly default?: string;
  readonly text: string;
}

const help = () => {
  const lines = Object.entries<Help>(options).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const value = option.value === undefined ? "" : ` <${option.value}>`;
    const initial = option.default === undefined ? "" : ` (${option.default})`;
    return `  ${`${short}--${name}${value}`.padEnd(22)} ${option.text}${initial}\n`;
  });
  return `Usage: svc-webhooks-sandbox [options]

Simulates the whole service on this machine. The first line of output contains the base URL.

${lines.join("")}`;
};

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const [sentence = "Wrong arguments"] = (error as Error).message.split(". ");
    throw new WebhookError("wrong_usage", `${sentence}.`);
  }
}

function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** The time from a signal to the line that reports that the sandbox is still closing, in milliseconds. */
const noticedMs = 500;

/**
 * How long after the first signal another one is ignored, in milliseconds. Under npx, one Ctrl-C causes two signals:
 * the terminal's, and the one that npx forwards.
 */
const sameMs = 250;

const stopping = new AbortController();
let stoppedAt: number | undefined;

// The first signal closes the sandbox. A second one, more than `sameMs` later, ends the process immediately.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 0],
] as const) {
  process.on(signal, () => {
    if (stoppedAt !== undefined) {
      if (performance.now() - stoppedAt > sameMs) process.exit(code);
      return;
    }
    stoppedAt = performance.now();
    setTimeout(() => {
      process.stderr.write("Stopping. Press Ctrl-C again to stop immediately.\n");
    }, noticedMs);
    process.exitCode = code;
    stopping.abort();
  });
}

async function main(args: readonly string[]): Promise<void> {
  const values = readArguments(args);
  if (values.help === true) {
    process.stdout.write(help());
    return;
  }
  if (values.version === true) {
    process.stdout.write(`${readVersion()}\n`);
    return;
  }
  const { stdout } = process;
  const code = await runCommand(values, { stdout, signal: stopping.signal, json: values.json });
  if (stopping.signal.aborted) process.exit();
  process.exitCode = code;
}

// Exits quietly if the reader of stdout closes it early, as in `--assumptions | head`.
process.stdout.on("error", () => process.exit());

try {
  await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = codeOf(error) === "wrong_usage" ? " --help lists all options." : "";
  process.stderr.write(`svc-webhooks sandbox: ${message}${hint}\n`);
  process.exit(codeOf(error) === undefined ? 1 : 2);
}
