import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Race } from "../race.js";
import { load, realistic, plainLoop, type Load } from "../sandbox/load.js";
import type { RunSection } from "../sections.js";
import { takeTurns } from "../turns.js";

export const run: RunSection = async (quick) => ({
  title: "Sandbox",
  races: [
    await scheduleRace(quick ? 1 : 15),
    ...(await deliveryRaces(quick ? 400 : 10_000, quick ? 1 : 7)),
    await heapRace(quick ? 400 : 10_000),
    await startRace(quick ? 1 : 15),
  ],
});

/**
 * Measures how long the retry schedule `realistic` (after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h) takes to run for
 * a receiver that always fails.
 */
async function scheduleRace(rounds: number): Promise<Race> {
  const lane = "one email to one endpoint";
  const lanes = await takeTurns({ [lane]: realistic }, rounds);
  const bars = [{ lane, atMost: 100, aim: 25 }];
  return { title: "schedule of 27 h 35 min on the manual clock", unit: "ms", lanes, bars };
}

const floor = "HMAC + new Request";
const [inMemory, inFile] = ["in memory", "--data"];

async function deliveryRaces(deliveries: number, rounds: number): Promise<Race[]> {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-bench-"));
  let files = 0;
  const nextFile = () => join(folder, String((files += 1)));
  const loads: Record<string, Load[]> = { [inMemory]: [], [inFile]: [] };
  const turn = (name: string, data?: () => string) => async () => {
    const result = await load({ deliveries, data: data?.() });
    loads[name]?.push(result);
    return result.attemptsPerSecond;
  };
  try {
    const lanes = await takeTurns(
      {
        [floor]: () => plainLoop(deliveries),
        [inMemory]: turn(inMemory),
        [inFile]: turn(inFile, nextFile),
      },
      rounds,
    );
    const blocks = Object.entries(loads).map(([name, results]) => ({
      name,
      // As in `takeTurns`, the first turn is not recorded.
      values: results.slice(1).map(({ longestBlockMs }) => longestBlockMs),
    }));
    const what = `${deliveries.toLocaleString("en")} deliveries to 100 endpoints`;
    return [
      {
        title: `${what}, longest block of the event loop`,
        unit: "ms",
        lanes: blocks,
        bars: [inMemory, inFile].map((lane) => ({ lane, atMost: 50, aim: 25, limit: ofBlock })),
      },
      {
        title: `${what}, attempts`,
        unit: "/s",
        reference: floor,
        lanes,
        bars: [],
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ofBlock =
  "Work starts in batches of 25, and a block includes the garbage collection that happens during it.";
/**
 * Measures the heap after the maximum number of deliveries that the sandbox keeps, and after three times as many. The
 * two should hardly differ, because the sandbox removes the oldest deliveries.
 */
async function heapRace(deliveries: number): Promise<Race> {
  const [once = "", thrice = ""] = [1, 3].map(
    (times) => `after ${(times * deliveries).toLocaleString("en")} deliveries`,
  );
  const { heaps } = await load({ deliveries, repeat: 3 });
  const [first = NaN, , third = NaN] = heaps;
  return {
    title: `heap, with at most ${deliveries.toLocaleString("en")} deliveries kept`,
    unit: "MB",
    reference: once,
    lanes: [
      { name: once, values: [first / 1e6] },
      { name: thrice, values: [third / 1e6] },
    ],
    bars: [{ lane: thrice, against: once, atMost: 1.25, aim: 1.1 }],
  };
}

async function startRace(rounds: number): Promise<Race> {
  const lane = "svc-webhooks-sandbox --port 0";
  const main = join(
    dirname(createRequire(import.meta.url).resolve("@svc-webhooks/sandbox")),
    "main.js",
  );
  const hono = `await import("hono"); console.log(1)`;
  const lanes = await takeTurns(
    {
      "node -e": () => firstLineMs(["-e", "console.log(1)"]),
      'node -e import("hono")': () => firstLineMs(["--input-type=module", "-e", hono]),
      [lane]: () => firstLineMs([main, "--port", "0"]),
    },
    rounds,
  );
  const bars = [{ lane, atMost: 1_000, aim: 400 }];
  return {
    title: "cold start to the first line of output",
    unit: "ms",
    reference: "node -e",
    lanes,
    bars,
  };
}

// Node resolves hono from this folder.
const cwd = fileURLToPath(new URL("../..", import.meta.url));

/** Measures the real time from the start of a Node process to its first output, in milliseconds. */
function firstLineMs(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
    let ms = NaN;
    child.stdout.once("data", () => {
      ms = performance.now() - startedAt;
      child.kill("SIGKILL");
    });
    child.once("error", reject);
    // Waits for the exit, because the next turn must not compete with a process that is still exiting.
    child.once("close", () => {
      if (ms > 0) resolve(ms);
      else reject(new Error(`node ${args.join(" ")} printed nothing.`));
    });
  });
}
