import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/**
 * What a command prints until it ends, or is interrupted after `ms`.
 *
 * @throws Error with what it has printed as errors (as a rejection)
 */
export async function outputOf(
  command: string,
  args: readonly string[],
  ms?: number,
): Promise<string> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const timer = ms && setTimeout(() => child.kill("SIGINT"), ms);
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${command} ended with ${String(code ?? signal)}\n${errors}`);
  return output;
}

/** Gives `use` the name of a file with `content`, which is gone afterwards. */
export async function withFile<Result>(
  content: string | Uint8Array,
  use: (file: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "svc-webhooks-bench-"));
  try {
    const file = join(folder, "file");
    await writeFile(file, content);
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}
