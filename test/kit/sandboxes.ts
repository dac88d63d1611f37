import { createSandbox, type Sandbox, type SandboxOptions } from "@svc-webhooks/sandbox";
import { onTestFinished } from "vitest";

export interface OpenSandbox {
  readonly sandbox: Sandbox;
  /** The base URL. */
  readonly url: string;
  /** The lines that the sandbox has logged. */
  readonly lines: readonly string[];
}

/** A manual clock that waits longer for a receiver than by default, because a machine may be busy. */
const patient = { mode: "manual", patienceMs: 20_000 } as const;

function withPatience(clock: SandboxOptions["clock"]): SandboxOptions["clock"] {
  if (clock === "manual") return patient;
  return typeof clock === "object" && clock.mode === "manual" ? { ...patient, ...clock } : clock;
}

/**
 * Opens a sandbox on a free port until the test ends, on a manual clock unless `options` has another one. A manual clock
 * waits 20 s of real time for a receiver unless `options` has another `patienceMs`.
 */
export async function openSandbox(options: SandboxOptions = {}): Promise<OpenSandbox> {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const { clock } = { clock: patient, ...options };
  const sandbox = createSandbox({ log, ...options, clock: withPatience(clock) });
  onTestFinished(() => sandbox.close());
  const { url } = await sandbox.listen(0);
  return { sandbox, url, lines };
}
