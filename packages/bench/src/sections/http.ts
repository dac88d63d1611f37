import { autocannon } from "../http/autocannon.js";
import { check } from "../http/check.js";
import type { Duty, Group } from "../http/contender.js";
import { groups, type GroupId } from "../http/groups.js";
import { connections, rateOf, type LoadTool } from "../http/load.js";
import { signedRequest } from "../http/request.js";
import { startServer, type ServerProcess } from "../http/server-process.js";
import { hasWrk, wrk } from "../http/wrk.js";
import type { Pace } from "../in-process.js";
import type { Race } from "../race.js";
import type { RunSection } from "../section.js";

export const http: RunSection = async ({ quick }) => {
  const pace = quick ? { rounds: 1, turnMs: 300 } : { rounds: 9, turnMs: 1_400 };
  const tool = hasWrk() ? wrk : autocannon;
  const races: Race[] = [];
  const notes: string[] = [];
  for (const id of Object.keys(groups) as GroupId[]) {
    const group = await groups[id]();
    races.push(await race(id, group, tool, pace));
    notes.push(...notesOn(group));
  }
  return {
    title: "HTTP",
    about:
      `${tool.name} sends deliveries of 1 kB, each with an id of its own, over ${connections} kept ` +
      `connections to a handler that does nothing. Contenders run in processes of their own, in ` +
      `production mode, and have shown that they answer as they should. A bare route does not even ` +
      `read the body: what it leaves is the framework. On Express, by hand is express.raw and ` +
      `response.json, and by hand on the stream is the hand-written receiver of node:http as a route. ` +
      `What others leave out: ${notes.join("; ")}.`,
    races,
  };
};

/** Lets contenders be loaded by turns, in changing order: A B C, C B A, … One value a round each: answers a second. */
async function race(
  id: GroupId,
  { title, contenders, bars }: Group,
  { load }: LoadTool,
  { rounds, turnMs }: Pace,
): Promise<Race> {
  const request = await signedRequest(1_024);
  const runners: { name: string; server: ServerProcess; values: number[] }[] = [];
  const turn = async ({ name, server: { port, ended } }: (typeof runners)[number]) =>
    rateOf(`${title}, ${name}`, await Promise.race([load(port, request, turnMs), ended]));

  try {
    for (const contender of contenders) {
      const server = await startServer(id, contender.name);
      const runner = { name: contender.name, server, values: [] };
      runners.push(runner);
      await check(contender, server);
      // For the compiler, which wants to see it at work first.
      await turn(runner);
    }
    for (let round = 0; round < rounds; round++) {
      for (const runner of round % 2 ? runners.toReversed() : runners) {
        runner.values.push(await turn(runner));
      }
    }
  } finally {
    for (const { server } of runners) server.stop();
  }
  const lanes = runners.map(({ name, values }) => ({ name, values }));
  return { title, unit: "requests/s", better: "more", reference: "by hand", lanes, bars };
}

const lacking: Readonly<Record<Duty, string>> = {
  signature: "verifies nothing",
  duplicates: "knows no duplicates",
  "body limit": "takes bodies of any length",
};

/** A bare route leaves out everything, and that is said once for all. */
const notesOn = ({ contenders }: Group) =>
  contenders
    .filter(({ name, lacks }) => lacks.length > 0 && name !== "bare route")
    .map(({ name, lacks }) => `${name} ${lacks.map((duty) => lacking[duty]).join(" and ")}`);
