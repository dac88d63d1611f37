import { startChild, type Child } from "../child.js";
import { load, type LoadOptions } from "../http/load.js";
import { otherRequestBars, otherRequests } from "../http/other-requests.js";
import { platforms } from "../http/platforms.js";
import type { Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { takeTurns, type Turn } from "../turns.js";

export const run: RunSection = async (quick) => {
  const races: Race[] = [];
  for (const title of Object.keys(platforms)) races.push(...(await racesOn(title, quick)));
  for (const title of Object.keys(otherRequests)) races.push(await othersOn(title, quick));
  return { title: "HTTP", races };
};

/** A rate at which every server sleeps between requests, in deliveries per second. */
const pacedRate = 3_000;

interface Server {
  readonly name: string;
  /** Sends requests for `ms` milliseconds, and measures the responses as {@link measure} does. */
  readonly measure: (ms: number, options?: LoadOptions) => ReturnType<typeof measure>;
}

/** Starts a server for each contender, and stops all of them after `work`. */
async function withServers<T>(
  platform: string,
  names: readonly string[],
  work: (servers: readonly Server[]) => Promise<T>,
): Promise<T> {
  const children: Child[] = [];
  try {
    const servers: Server[] = [];
    for (const name of names) {
      const child = startChild("http/server.js", [platform, name], {
        execArgv: [],
        env: { ...process.env, NODE_ENV: "production" },
      });
      children.push(child);
      const port = Number(await child.reply());
      servers.push({ name, measure: (ms, options) => measure(child, port, ms, options) });
    }
    return await work(servers);
  } finally {
    for (const child of children) child.stop();
  }
}

const turnsOf = (servers: readonly Server[], turn: (server: Server) => Promise<number>) =>
  Object.fromEntries(servers.map((server): [string, Turn] => [server.name, () => turn(server)]));

function racesOn(platform: string, quick: boolean): Promise<Race[]> {
  const { contenders = {}, bars = [] } = platforms[platform] ?? {};
  return withServers(platform, Object.keys(contenders), async (servers) => {
    const rates = new Map(servers.map(({ name }): [string, number[]] => [name, []]));
    const saturated = turnsOf(servers, async (server) => {
      const { perCpuSecond, perSecond } = await server.measure(quick ? 100 : 1_000);
      rates.get(server.name)?.push(perSecond);
      return perCpuSecond;
    });
    const paced = turnsOf(servers, async (server) => {
      const options = { perSecond: pacedRate };
      return (await server.measure(quick ? 100 : 600, options)).perCpuSecond;
    });
    const rounds = quick ? 1 : 9;
    const common = { unit: "/s", reference: "hand-written" };
    const lanes = await takeTurns(saturated, rounds);
    // As in `lanes`, the first turn is not recorded.
    const throughput = Array.from(rates, ([name, values]) => ({ name, values: values.slice(1) }));
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
  });
}

function othersOn(platform: string, quick: boolean): Promise<Race> {
  const names = Object.keys(otherRequests[platform] ?? {});
  return withServers(platform, names, async (servers) => {
    const turns = turnsOf(
      servers,
      async (server) =>
        (await server.measure(quick ? 100 : 700, { requests: "others" })).perCpuSecond,
    );
    return {
      title: `${platform}, other requests, per second of CPU time`,
      unit: "/s",
      lanes: await takeTurns(turns, quick ? 1 : 15),
      bars: otherRequestBars,
    };
  });
}

/** Measures how many responses a server sends per second, and per second of its main thread's CPU time. */
async function measure(server: Child, port: number, ms: number, options?: LoadOptions) {
  const before = Number(await server.reply("cpu"));
  const startedAt = performance.now();
  const responses = await load(port, ms, options);
  const tookMs = performance.now() - startedAt;
  const cpuMs = Number(await server.reply("cpu")) - before;
  return { perCpuSecond: (responses / cpuMs) * 1_000, perSecond: (responses / tookMs) * 1_000 };
}
