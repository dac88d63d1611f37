import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { seeded } from "@svc-webhooks/kit/random";
import { points, type Point } from "./settings.js";

/** A charge that the API has made. */
interface Charge {
  readonly order: string;
  readonly key: string;
}

/** The rules of a run. */
export interface Rules {
  readonly seed: string;
  /** The points at which the first process to reach them with every n-th order is killed, with n. */
  readonly strikes: Readonly<Partial<Record<Point, number>>>;
  /** Whether some charges fail, and some responses to successful ones are lost. */
  readonly isUnreliable: boolean;
  /** Called whenever a process has reached a point. */
  readonly onPoint?: () => void;
  /** Resolves to whether the row of an order is committed, or to undefined if the database is unavailable. */
  readonly hasRow: (order: string) => Promise<boolean | undefined>;
}

export interface Judge {
  readonly url: string;
  readonly charges: readonly Charge[];
  /** The number of processes that were killed at a point. */
  readonly killed: () => number;
  /** The orders that were charged before their row was committed. */
  readonly unfounded: ReadonlySet<string>;
  /** Returns the ids of the pools of Graphile Worker in a process. */
  readonly poolsOf: (pid: number) => readonly string[];
  readonly close: () => Promise<void>;
}

/**
 * Starts the API that makes charges. It does not recognize keys, so that charges under different keys can be counted.
 * It also kills the processes that report to it where they are: no clock decides what a killed process has done.
 */
export async function startJudge(rules: Rules): Promise<Judge> {
  const { seed, strikes, isUnreliable, onPoint = () => {}, hasRow } = rules;
  const random = seeded(`${seed}/api`);
  const charges: Charge[] = [];
  const unfounded = new Set<string>();
  const reached = new Set<string>();
  const pools = new Map<number, string[]>();
  let killed = 0;

  const isStruck = (point: Point, order: string): boolean => {
    const every = strikes[point];
    const place = `${point} ${order}`;
    if (every === undefined || reached.has(place)) return false;
    reached.add(place);
    return (Number(order) + points.indexOf(point) * 7) % every === 0;
  };
  const charge = async (made: Charge, response: ServerResponse) => {
    if (isUnreliable && random.chance(0.05)) return response.writeHead(500).end();
    charges.push(made);
    if ((await hasRow(made.order)) === false) unfounded.add(made.order);
    return isUnreliable && random.chance(0.03) ? response.destroy() : response.end();
  };
  const kill = (pid: number) => {
    try {
      process.kill(pid, "SIGKILL");
      killed += 1;
    } catch {
      // It has been killed after it sent the request.
    }
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://judge");
    const field = (name: string) => searchParams.get(name) ?? "";
    const pid = Number(field("pid"));
    const order = field("order");
    if (pathname === "/charge") return void charge({ order, key: field("key") }, response);
    if (pathname === "/pool") {
      pools.set(pid, [...(pools.get(pid) ?? []), field("pool")]);
      return response.end();
    }
    if (isStruck(field("point") as Point, order)) {
      kill(pid);
      return response.destroy();
    }
    onPoint();
    return response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    charges,
    killed: () => killed,
    unfounded,
    poolsOf: (pid) => pools.get(pid) ?? [],
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
