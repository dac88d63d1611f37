import { STATUS_CODES } from "node:http";
import express, { type RequestHandler } from "express";
import type { ByHandOptions } from "./accept.js";
import { receiverByHand } from "./receive.js";

/** The hand-written receiver in Express: `app.post("/webhooks", webhooksByHand(options))`. */
export function webhooksByHand(options: ByHandOptions): RequestHandler[] {
  const receive = receiverByHand(options);

  return [
    // What has been inflated is not what was signed.
    express.raw({ type: () => true, limit: 2 ** 20, inflate: false }),
    async (request, response) => {
      // Nothing is there where nothing was sent.
      const body: Buffer = request.body ?? Buffer.alloc(0);
      const status = await receive(request.headers, body);
      response.status(status).json({ status: STATUS_CODES[status] });
    },
  ];
}
