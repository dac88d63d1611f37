import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { seeded } from "@svc-webhooks/kit/random";
import { until } from "@svc-webhooks/kit/until";
import { startClients } from "./clients.js";
import { builtCommand, command } from "./command.js";
import { flakyReceiver } from "./receiver.js";
import { judge, readDataFile, type Verdict } from "./verdict.js";

export interface SandboxChaos {
  readonly seed: string;
  readonly kills: number;
  /** The time at which the command writes to its file. Default: as built. `later` is the mistake that loses sends. */
  readonly writes?: "before the response" | "later";
  readonly signal: AbortSignal;
}

/**
 * The factor by which the sandbox's clock is accelerated. At this speed, the last retry comes after 1.4 s instead of 81
 * s.
 */
const speed = 60;

/** Runs clients against the sandbox's command, which is killed at random and restarted on the same file. */
export async function runSandboxChaos({
  seed,
  kills,
  writes = "before the response",
  signal,
}: SandboxChaos): Promise<{ readonly verdict: Verdict; readonly summary: string }> {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-sandbox-"));
  const file = join(folder, "data");
  const receiver = await flakyReceiver(seed);
  const sandbox = command(builtCommand(writes), [
    `--data=${file}`,
    `--clock=accelerated:${speed}`,
    "--set=A-10=timeout:300ms",
    "--set=A-06=allow",
  ]);
  onTestFinished(async () => {
    await sandbox.stop("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  const startedAt = performance.now();
  await sandbox.start().ready;
  // The number of sends is limited, because retention keeps only 10,000 calls and deliveries and must not drop the
  // records to be checked.
  const clients = await startClients(sandbox, receiver, { seed, mostSends: 9 * kills });
  const { known, call } = clients;
  const random = seeded(`${seed}/kills`);
  const counts = { starting: 0, SIGKILL: 0, SIGTERM: 0 };
  const missing = new Set<string>();
  let checked = 0;

  /**
   * Checks every send that got a 202 since the last check, and up to two older ones. The final check covers all sends.
   */
  const look = async (isFinal: boolean) => {
    const all = [...known.sends];
    const older = () => all.slice(random.between(0, all.length)).slice(0, 1);
    const chosen = isFinal ? all : [...all.slice(checked), ...older(), ...older()];
    checked = all.length;
    await Promise.all(
      chosen.map(async ([key, [id = ""]]) => {
        const { status, body } = await call("GET", `/v1/sends/${id}`);
        if (status !== 200 || body.subject !== key) missing.add(key);
      }),
    );
  };

  while (counts.starting + counts.SIGKILL < kills) {
    signal.throwIfAborted();
    await pause(random.between(5, 120));
    const how = random.chance(0.07) ? "SIGTERM" : "SIGKILL";
    await sandbox.stop(how);
    counts[how] += 1;
    // Some processes are killed while they are opening the file.
    while (random.chance(0.3) && counts.starting + counts.SIGKILL < kills) {
      sandbox.start();
      await pause(random.between(30, 250));
      await sandbox.stop("SIGKILL");
      counts.starting += 1;
    }
    await sandbox.start().ready;
    await look(false);
  }
  await clients.stop();
  await look(true);

  const listed = new Map<string, string>();
  const list = async () => {
    let cursor = "";
    do {
      const query = `webhook_endpoint_id=${known.lastingId}&limit=100${cursor && `&after=${cursor}`}`;
      const { body } = await call("GET", `/v1/webhook-events?${query}`);
      for (const event of body.data ?? []) listed.set(event.event_id, event.status);
      cursor = body.next_cursor ?? "";
    } while (cursor);
    return [...listed.values()].every((status) => status === "succeeded" || status === "failed");
  };
  await pause(2_500);
  await until(list, "every delivery succeeds or fails").catch(() => {});
  await sandbox.stop("SIGTERM");

  const filed = readDataFile(file);
  const verdict = judge(known, receiver.arrivals, filed, missing);
  const seconds = (performance.now() - startedAt) / 1_000;
  const states = [...listed.values()];
  const summary = [
    `sandbox, seed ${seed}: ${counts.SIGKILL} kills under load, ${counts.starting} while it started, ${counts.SIGTERM} stops, in ${seconds.toFixed(0)} s`,
    `${known.sends.size} emails with a 202, ${filed.deliveries.length} deliveries, ${receiver.arrivals.length} arrivals`,
    `${states.filter((state) => state === "succeeded").length} of ${states.length} listed deliveries succeeded, ${known.redelivered.length} redeliveries, ${known.archived.size} endpoints archived, ${known.domains.size} domains`,
    `wrong: ${Object.entries(verdict)
      .map(([kind, { length }]) => `${length} ${kind}`)
      .join(", ")}`,
  ];
  return { verdict, summary: summary.join("\n  ") };
}
