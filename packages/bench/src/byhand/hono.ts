import { STATUS_CODES } from "node:http";
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ByHandOptions } from "./accept.js";
import { receiverByHand } from "./receive.js";

const maxBodyBytes = 2 ** 20;

/** The hand-written receiver in Hono: `app.post("/webhooks", webhooksByHand(options))`. */
export function webhooksByHand(options: ByHandOptions) {
  const receive = receiverByHand(options);
  const countBytes = bodyLimit({ maxSize: maxBodyBytes });

  return async (c: Context): Promise<Response> => {
    const length = c.req.header("content-length");
    if (Number(length) > maxBodyBytes) return answer(c, 413);
    // It makes a stream of every body, which is dear on Node: only for those that announce no length.
    if (length === undefined) await countBytes(c, async () => {});
    const body = Buffer.from(await c.req.arrayBuffer());
    const headers = {
      "x-svc-signature": c.req.header("x-svc-signature"),
      "x-svc-delivery-id": c.req.header("x-svc-delivery-id"),
    };
    return answer(c, await receive(headers, body));
  };
}

const answer = (c: Context, status: number) =>
  // That it is a number is all that types know of it.
  c.json({ status: STATUS_CODES[status] }, status as ContentfulStatusCode);
