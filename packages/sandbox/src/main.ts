#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { codeOf } from "@svc-webhooks/core";
import type { ClockMode } from "./clock.js";
import { resolveOptions } from "./options.js";
import { createSandbox } from "./sandbox.js";

const help = `Usage: svc-webhooks-sandbox [options]

Serves the whole service on this machine. The first line on stdout has its base URL.

  --port <number>        port on 127.0.0.1, 0 for a free one (4010)
  --data <file>          keep all state in a SQLite file (in memory)
  --set <A-nn=value>     choose another assumption; may be repeated
  --clock <mode>         real, manual, or accelerated[:<times>] (real)
  --smtp <url>           also pass emails to an SMTP server on loopback
  --allow-host <name>    also serve requests to this host name; may be repeated
  --seed <number>        repeatable ids and secrets
  --assumptions          print all assumptions and their values, and exit
  --version              print the version, and exit
  -h, --help             print this text, and exit
`;

/** Wrong usage: one line, exit code 2. */
class UsageError extends Error {}

const usage = (message: string) => new UsageError(`${message} --help lists all options.`);

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: "4010" },
        data: { type: "string" },
        set: { type: "string", multiple: true, default: [] },
        clock: { type: "string", default: "" },
        smtp: { type: "string" },
        "allow-host": { type: "string", multiple: true, default: [] },
        seed: { type: "string" },
        assumptions: { type: "boolean", default: false },
        version: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    throw usage(`${(error as Error).message.split(". ")[0] ?? "Wrong arguments"}.`);
  }
}

function numberFrom(option: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value <= max) return value;
  throw usage(`--${option} must be a number from 0 to ${max}.`);
}

function clockFrom(
  text: string,
): { readonly mode: ClockMode; readonly speed?: number } | undefined {
  if (text === "") return undefined;
  const [, mode, speed] = /^(real|manual|accelerated)(?::(\d{1,6}))?$/.exec(text) ?? [];
  if (
    mode === undefined ||
    Number(speed) === 0 ||
    (speed !== undefined && mode !== "accelerated")
  ) {
    throw usage("--clock must be real, manual, accelerated or accelerated:<times>.");
  }
  return { mode: mode as ClockMode, ...(speed === undefined ? {} : { speed: Number(speed) }) };
}

function assumptionsFrom(words: readonly string[]): Readonly<Record<string, string>> {
  const pairs = words.map((word) => {
    const [, id, value] = /^(A-\d\d)=(.+)$/.exec(word) ?? [];
    if (id === undefined || value === undefined)
      throw usage(
        `--set must be A-nn=value, such as A-06=reject. --assumptions lists all of them.`,
      );
    return [id, value] as const;
  });
  return Object.fromEntries(pairs);
}

function printAssumptions(words: readonly string[]): void {
  const { ledger } = resolveOptions({ assumptions: assumptionsFrom(words) });
  for (const { id, setting, value, default: first, alternatives, text } of ledger.list()) {
    const others = alternatives.filter((word) => word !== value);
    const also = others.length === 0 ? [] : [`also ${others.join(", ")}`];
    const choices = [value === first ? "default" : `default ${first}`, ...also].join("; ");
    process.stdout.write(`${id}  ${setting}: ${value} (${choices})\n      ${text}\n`);
  }
}

function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** Milliseconds after which closing is noticed. */
const noticedMs = 500;

/** The first signal closes the sandbox; a second one ends the process immediately. */
function closeOnSignals(close: () => Promise<void>): void {
  let isClosing = false;
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 0],
  ] as const) {
    process.on(signal, () => {
      if (isClosing) process.exit(code);
      isClosing = true;
      setTimeout(() => {
        process.stderr.write("Stopping. Press Ctrl-C again to stop immediately.\n");
      }, noticedMs);
      void close().finally(() => process.exit(code));
    });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const options = readArguments(args);
  if (options.help) {
    process.stdout.write(help);
    return;
  }
  if (options.version) {
    process.stdout.write(`${readVersion()}\n`);
    return;
  }
  if (options.assumptions) {
    printAssumptions(options.set);
    return;
  }
  const clock = clockFrom(options.clock);
  const port = numberFrom("port", options.port, 65_535);
  const seed =
    options.seed === undefined ? undefined : numberFrom("seed", options.seed, 2 ** 32 - 1);
  const sandbox = createSandbox({
    clock,
    data: options.data,
    assumptions: assumptionsFrom(options.set),
    smtp: options.smtp,
    allowHosts: options["allow-host"],
    seed,
  });
  // Before the first line, after which a script may stop the sandbox.
  closeOnSignals(sandbox.close);
  const { url } = await sandbox.listen(port);
  process.stdout.write(`The sandbox serves the interface at ${url}\n`);
  if (process.stdout.isTTY) {
    process.stdout.write(`  export SVC_BASE_URL=${url} SVC_API_KEY=svc_test\nCtrl-C stops it.\n`);
  }
}

// `--assumptions | head` closes the pipe early.
process.stdout.on("error", () => process.exit());

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(
    `svc-webhooks sandbox: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exit(error instanceof UsageError || codeOf(error) !== undefined ? 2 : 1);
}
