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

/** Opens a sandbox on a free port, on a manual clock unless `options` has another one, until the test ends. */
export async function openSandbox(options: SandboxOptions = {}): Promise<OpenSandbox> {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const sandbox = createSandbox({ clock: patient, log, ...options });
  onTestFinished(() => sandbox.close());
  const { url } = await sandbox.listen(0);
  return { sandbox, url, lines };
}
