import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { createReceiver } from "@svc-webhooks/core";

interface Core {
  readonly createReceiver: typeof createReceiver;
}

const branch = /if \(enqueueOf\(state\.handler\)\) return enqueue\(state\);/;

/** Loads two copies of the built core: as it is, and without the branch for handlers that run from a queue. */
export async function bothCores(
  folder: string,
): Promise<{ readonly [name in "with" | "without"]: Core }> {
  const text = await readFile(fileURLToPath(import.meta.resolve("@svc-webhooks/core")), "utf8");
  const shorter = text.replace(branch, "");
  if (shorter === text) throw new Error("The core has no branch for queues at the expected place.");
  const load = async (name: string, code: string): Promise<Core> => {
    const file = join(folder, `${name}.mjs`);
    await writeFile(file, code);
    return (await import(pathToFileURL(file).href)) as Core;
  };
  return { with: await load("with", text), without: await load("without", shorter) };
}
