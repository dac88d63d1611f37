import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listen } from "@svc-webhooks/kit/servers";
import { seeded } from "@svc-webhooks/kit/random";

/** A delivery as it arrived at the receiver. */
export interface Arrival {
  readonly path: string;
  readonly eventId: string;
  readonly type: string;
  /** The id of the event's resource: `send_…` or `dom_…`. */
  readonly subject: string;
  readonly sha256: string;
  readonly signature: string;
  readonly body: Buffer;
  readonly ok: boolean;
  readonly at: number;
}

export interface FlakyReceiver {
  readonly port: number;
  readonly arrivals: readonly Arrival[];
}

/**
 * Starts a receiver that serves every path. 15 % of the requests get a 500, 5 % get no response, and 5 % have their
 * connection closed.
 */
export async function flakyReceiver(seed: string): Promise<FlakyReceiver> {
  const random = seeded(`${seed}/receiver`);
  const arrivals: Arrival[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray());
    const { type, data } = JSON.parse(String(body)) as {
      readonly type: string;
      readonly data: { readonly send_id?: string; readonly domain_id?: string };
    };
    const luck = random.between(1, 100);
    arrivals.push({
      path: request.url ?? "",
      eventId: String(request.headers["x-svc-event-id"]),
      type,
      subject: data.send_id ?? data.domain_id ?? "",
      sha256: createHash("sha256").update(body).digest("hex"),
      signature: String(request.headers["x-svc-signature"]),
      body,
      ok: luck > 25,
      at: performance.now(),
    });
    if (luck <= 15) response.writeHead(500).end();
    else if (luck <= 20) request.socket.once("close", () => response.destroy());
    else if (luck <= 25) request.socket.destroy();
    else response.end();
  };
  const port = await listen((request, response) => {
    // A sender that is killed cuts off its request.
    receive(request, response).catch(() => response.destroy());
  });
  return { port, arrivals };
}

export const isSignedWith = ({ body, signature }: Arrival, secret: string): boolean =>
  signature === `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
