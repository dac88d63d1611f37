import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { redisServer } from "@svc-webhooks/kit/redis-server";
import { startHerd } from "./herd.js";
import { unleash } from "./monkey.js";
import { send, type Load } from "./sender.js";
import { now, realLeaseMs } from "./time.js";
import { judge, type Effect, type Verdict } from "./verdict.js";

export interface ChaosRun extends Load {
  readonly seed: string;
  /** The status for copies of a running delivery. Default 503; 200 is the mistake that loses events. */
  readonly inFlight?: 200 | 503;
}

export interface ChaosResult {
  readonly verdict: Verdict;
  /** The figures to print. */
  readonly summary: string;
}

/** Runs three receivers on one Redis with a sender, while a monkey kills and freezes them. */
export async function runChaos({ seed, inFlight = 503, ...load }: ChaosRun): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-chaos-"));
  const effectLog = join(folder, "effects.jsonl");
  writeFileSync(effectLog, "");
  const redis = await redisServer();
  onTestFinished(async () => {
    await redis.close();
    rmSync(folder, { recursive: true });
  });
  const herd = await startHerd(3, { redisPort: redis.port, effectLog, inFlight });
  onTestFinished(herd.killAll);

  const epoch = Date.now() - now();
  const startedAt = now();
  const monkey = unleash(herd, seed);
  const { acks, results, done } = send(herd.places, seed, load);
  await done.finally(monkey.stop);
  await herd.drain();
  const seconds = (now() - startedAt) / 1_000;

  const lines = readFileSync(effectLog, "utf8").trimEnd().split("\n");
  const effects = lines.map((line) => JSON.parse(line) as Effect);
  const { strikes } = monkey;
  const verdict = judge({ effects, acks, strikes, epoch });
  const { killed, frozen, unexplained } = verdict.doubles;

  const kills = strikes.filter(({ kind }) => kind === "kill");
  const freezes = strikes.filter(({ kind }) => kind === "freeze");
  const longFreezes = freezes.filter(({ from, to }) => to - from > realLeaseMs);
  const summary = [
    `seed ${seed}: ${load.events} events in ${seconds.toFixed(0)} s, copies in flight got ${inFlight}`,
    `attempts: ${Array.from(results, ([result, count]) => `${count} ${result}`).join(", ")}`,
    `kills: ${kills.length}; freezes: ${freezes.length}, ${longFreezes.length} of them past the lease`,
    `effects: ${effects.length}; double runs: ${killed} after a kill, ${frozen} after a freeze, ${unexplained.length} unexplained`,
    `lost: ${verdict.lost.length}; acknowledged too early: ${verdict.early.length}`,
  ];
  return { verdict, summary: summary.join("\n  ") };
}
