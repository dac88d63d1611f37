import { startChild, type Child } from "../child.js";
import { load } from "../http/load.js";
import { platforms } from "../http/platforms.js";
import type { Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { takeTurns, type Turn } from "../turns.js";

export const run: RunSection = async (quick) => {
  const races: Race[] = [];
  for (const title of Object.keys(platforms)) races.push(...(await racesOn(title, quick)));
  return { title: "HTTP", races };
};

/** A rate at which every server sleeps between requests, in deliveries per second. */
const pacedRate = 3_000;

async function racesOn(platform: string, quick: boolean): Promise<Race[]> {
  const { contenders = {}, bars = [] } = platforms[platform] ?? {};
  const servers: Child[] = [];
  try {
    const saturated: Record<string, Turn> = {};
    const paced: Record<string, Turn> = {};
    const rates: Record<string, number[]> = {};
    for (const name of Object.keys(contenders)) {
      const server = startChild("http/server.js", [platform, name], {
        execArgv: [],
        env: { ...process.env, NODE_ENV: "production" },
      });
      servers.push(server);
      const port = Number(await server.reply());
      const values: number[] = (rates[name] = []);
      saturated[name] = async () => {
        const { perCpuSecond, perSecond } = await measure(server, port, quick ? 100 : 1_000);
        values.push(perSecond);
        return perCpuSecond;
      };
      paced[name] = async () =>
        (await measure(server, port, quick ? 100 : 600, pacedRate)).perCpuSecond;
    }
    const rounds = quick ? 1 : 9;
    const common = { unit: "/s", reference: "hand-written" };
    const lanes = await takeTurns(saturated, rounds);
    // As in `lanes`, the first turn is not recorded.
    const throughput = Object.entries(rates).map(([name, values]) => ({
      name,
      values: values.slice(1),
    }));
    const atRate = await takeTurns(paced, rounds);
    return [
      { title: `${platform}, per second of CPU time`, ...common, lanes, bars },
      { title: `${platform}, throughput`, ...common, lanes: throughput, bars: [] },
      {
        title: `${platform}, at 3,000 deliveries/s, per second of CPU time`,
        ...common,
        lanes: atRate,
        bars: [],
      },
    ];
  } finally {
    for (const server of servers) server.stop();
  }
}

/** Measures how many responses a server sends per second, and per second of its main thread's CPU time. */
async function measure(server: Child, port: number, ms: number, rate?: number) {
  const before = Number(await server.reply("cpu"));
  const startedAt = performance.now();
  const responses = await load(port, ms, rate);
  const tookMs = performance.now() - startedAt;
  const cpuMs = Number(await server.reply("cpu")) - before;
  return { perCpuSecond: (responses / cpuMs) * 1_000, perSecond: (responses / tookMs) * 1_000 };
}
