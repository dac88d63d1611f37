import { startChild, type Child } from "../child.js";
import { load } from "../http/load.js";
import { platforms } from "../http/platforms.js";
import type { Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { takeTurns, type Turn } from "../turns.js";

export const run: RunSection = async (quick) => {
  const races: Race[] = [];
  for (const title of Object.keys(platforms)) races.push(await race(title, quick));
  return { title: "HTTP", races };
};

async function race(title: string, quick: boolean): Promise<Race> {
  const { contenders = {}, bars = [] } = platforms[title] ?? {};
  const servers: Child[] = [];
  try {
    const turns: Record<string, Turn> = {};
    for (const name of Object.keys(contenders)) {
      const server = startChild("http/server.js", [title, name], {
        execArgv: [],
        env: { ...process.env, NODE_ENV: "production" },
      });
      servers.push(server);
      const port = Number(await server.reply());
      // autocannon cannot saturate the fastest servers, so only the event loop's busy time counts.
      turns[name] = async () => {
        const before = Number(await server.reply("busy"));
        const responses = await load(port, quick ? 100 : 1_400);
        return (responses / (Number(await server.reply("busy")) - before)) * 1_000;
      };
    }
    const lanes = await takeTurns(turns, quick ? 1 : 9);
    return { title, unit: "/s", reference: "hand-written", lanes, bars };
  } finally {
    for (const server of servers) server.stop();
  }
}
