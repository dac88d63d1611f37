import { setTimeout as pause } from "node:timers/promises";
import { seeded } from "@svc-webhooks/kit/random";
import type { Command } from "./command.js";
import type { FlakyReceiver } from "./receiver.js";

/** The facts that responses have confirmed to the clients. */
export interface Known {
  /** The send ids (`send_…`) by idempotency key, including every id that a repeated request returned. */
  readonly sends: Map<string, Set<string>>;
  /** The verifications by domain id: how many were requested, and how many of the requests got a response. */
  readonly domains: Map<string, { name: string; asked: number; answered: number }>;
  /** The redeliveries that got a 202, each with the time of its request. */
  readonly redelivered: { readonly eventId: string; readonly at: number }[];
  /** The time at which each endpoint was confirmed as archived, by path. */
  readonly archived: Map<string, number>;
  /**
   * The secret of the lasting endpoint. `rotatedAt` is the time of its last rotation, and `rotating` is true during
   * one.
   */
  secret: string;
  rotatedAt: number;
  rotating: boolean;
  lastingId: string;
}

export interface Clients {
  readonly known: Known;
  readonly call: (method: string, path: string, body?: object, key?: string) => Promise<Answer>;
  /** Stops sending. Resolves when every request in flight has its response. */
  readonly stop: () => Promise<unknown>;
}

export interface Answer {
  readonly status: number;
  readonly body: ResponseBody;
}

/** The fields read here, across the responses of all resources. */
interface ResponseBody {
  readonly send_id?: string;
  readonly subject?: string;
  readonly domain_id?: string;
  readonly secret?: string;
  readonly webhook_endpoint?: { readonly webhook_endpoint_id: string };
  readonly data?: readonly { readonly event_id: string; readonly status: string }[];
  readonly next_cursor?: string | null;
}

/** The path of the endpoint that is never archived. */
export const lasting = "/lasting";

/** Statuses that mean that the request did not create a send, or that its first copy is still running. */
const lostStatuses = new Set([409, 500, 503]);

export interface Load {
  readonly seed: string;
  readonly mostSends: number;
}

/** Calls the sandbox's API while the command is killed. Most requests are repeated until they get a response. */
export async function startClients(
  command: Pick<Command, "url">,
  { port, arrivals }: FlakyReceiver,
  { seed, mostSends }: Load,
): Promise<Clients> {
  const stopping = new AbortController();
  const known: Known = {
    sends: new Map(),
    domains: new Map(),
    redelivered: [],
    archived: new Map(),
    secret: "",
    rotatedAt: 0,
    rotating: false,
    lastingId: "",
  };

  /** Makes one request. Resolves to undefined if there was no response. */
  const once = async (method: string, path: string, body?: object, key = "") => {
    while (command.url === undefined) await pause(2);
    try {
      const response = await fetch(command.url + path, {
        method,
        headers: {
          authorization: "Bearer svc_test",
          ...(body && { "content-type": "application/json" }),
          ...(key && { "idempotency-key": key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(5_000),
      });
      return { status: response.status, body: await response.json() } as Answer;
    } catch {
      return undefined;
    }
  };

  /**
   * Repeats a request until it gets a response. If the request has a key, a response with one of `lostStatuses` does
   * not count.
   */
  const call: Clients["call"] = async (method, path, body, key) => {
    for (;;) {
      const answer = await once(method, path, body, key);
      if (answer && !(key && lostStatuses.has(answer.status))) return answer;
      await pause(5);
    }
  };

  /** Creates an endpoint. Resolves to undefined if there was no response, although the endpoint may exist. */
  const register = async (path: string, types: readonly string[]) => {
    const url = `http://127.0.0.1:${port}${path}`;
    const answer = await once("POST", "/v1/webhook-endpoints", { url, event_types: types });
    if (!answer) return undefined;
    const { status, body } = answer;
    if (status !== 201) throw new Error(`${path} was not registered: ${JSON.stringify(body)}`);
    return { id: String(body.webhook_endpoint?.webhook_endpoint_id), secret: String(body.secret) };
  };

  let count = 0;
  const send = async (key: string) => {
    const email = { from: "a@a.test", to: ["b@b.test"], subject: key, text: "Thank you." };
    const { status, body } = await call("POST", "/v1/emails", email, key);
    if (status !== 202) throw new Error(`${key} got ${status}.`);
    known.sends.set(key, (known.sends.get(key) ?? new Set()).add(String(body.send_id)));
  };

  /**
   * Performs an action repeatedly, with random pauses, until the clients are stopped. Each lane has its own random
   * sequence.
   */
  const lane = async (
    name: string,
    minMs: number,
    maxMs: number,
    act: (n: number, random: ReturnType<typeof seeded>) => Promise<unknown>,
  ) => {
    const random = seeded(`${seed}/${name}`);
    for (let n = 0; !stopping.signal.aborted; n += 1) {
      await act(n, random);
      await pause(random.between(minMs, maxMs));
    }
  };

  const sending = (name: string) =>
    lane(name, 0, 12, async (_n, random) => {
      if (count >= mostSends) return;
      count += 1;
      const key = `order-${count}`;
      await send(key);
      // An uncertain client repeats an earlier request, perhaps after a restart.
      if (random.chance(0.1)) await send(random.pick([...known.sends.keys()]));
    });

  const verifying = () =>
    lane("domains", 100, 400, async (n, random) => {
      const name = `d${random.between(0, n)}.test`;
      const { body } = await call("POST", "/v1/domains", { domain_name: name });
      const id = String(body.domain_id);
      const domain = known.domains.get(id) ?? { name, asked: 0, answered: 0 };
      known.domains.set(id, domain);
      domain.asked += 1;
      if (await once("POST", `/v1/domains/${id}:verify`)) domain.answered += 1;
    });

  const rotating = () =>
    lane("rotation", 3_000, 4_000, async () => {
      known.rotating = true;
      const path = `/v1/webhook-endpoints/${known.lastingId}:rotate-secret`;
      known.secret = String((await call("POST", path)).body.secret);
      known.rotatedAt = performance.now();
      known.rotating = false;
    });

  const replacing = () =>
    lane("endpoints", 20, 60, async (n) => {
      const path = `/short-${n}`;
      const registered = await register(path, ["email.delivered"]);
      // Not repeated: registering the same path again could create a second endpoint, so each event would have two ids.
      if (!registered) return;
      await pause(700);
      await call("DELETE", `/v1/webhook-endpoints/${registered.id}`);
      known.archived.set(path, performance.now());
    });

  const redelivering = () =>
    lane("redeliveries", 5, 25, async () => {
      const last = arrivals.findLast(({ path, ok }) => path === lasting && !ok);
      if (!last) return;
      const at = performance.now();
      const answer = await once("POST", `/v1/webhook-events/${last.eventId}:redeliver`);
      if (answer?.status === 202) known.redelivered.push({ eventId: last.eventId, at });
    });

  const endpoint = await register(lasting, ["email.sent", "email.delivered", "domain.updated"]);
  if (!endpoint) throw new Error("The first request got no response.");
  Object.assign(known, { lastingId: endpoint.id, secret: endpoint.secret });
  const lanes = Promise.all([
    ...["a", "b", "c", "d", "e", "f"].map(sending),
    verifying(),
    rotating(),
    replacing(),
    redelivering(),
  ]);
  // A rejection is handled when the clients are stopped.
  lanes.catch(() => {});
  return {
    known,
    call,
    stop() {
      stopping.abort();
      return lanes;
    },
  };
}
