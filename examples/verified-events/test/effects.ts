import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Decides about the effects of an event. */
export interface Plan {
  /** Decides when the first effect ends, and whether it succeeds. `caller` is the name of the process that requests it. */
  readonly first: (caller: string) => Promise<boolean>;
  /** Is notified of each later effect, which succeeds. */
  readonly later: () => void;
}

/** The API that `effect.mjs` calls. It counts the effects that succeed. */
export interface EffectsApi {
  /** Returns the address of the API for a process, which identifies that process. */
  readonly addressFor: (caller: string) => string;
  /** Plans the effects of an event. Without a plan, they succeed. */
  readonly plan: (id: string, plan: Plan) => void;
  /** Returns how many effects of an event have succeeded. */
  readonly count: (id: string) => number;
  readonly close: () => void;
}

export async function effectsApi(): Promise<EffectsApi> {
  const plans = new Map<string, Plan>();
  const started = new Set<string>();
  const counts = new Map<string, number>();
  const count = (id: string) => counts.get(id) ?? 0;

  /** Resolves to whether an effect succeeds. */
  async function effect(id: string, caller: string): Promise<boolean> {
    const plan = plans.get(id);
    const isFirst = !started.has(id);
    started.add(id);
    if (plan && isFirst) return plan.first(caller);
    plan?.later();
    return true;
  }

  const server = createServer((request, response) => {
    const respond = async () => {
      const { id } = (await json(request)) as { readonly id: string };
      const isDone = await effect(id, (request.url ?? "").slice(1));
      if (isDone) counts.set(id, count(id) + 1);
      response.writeHead(isDone ? 200 : 500).end();
    };
    respond().catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    addressFor: (caller) => `http://127.0.0.1:${port}/${caller}`,
    plan: (id, plan) => void plans.set(id, plan),
    count,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
