import autocannon from "autocannon";
import { bodyOf, headersOf, secret, signatureOf } from "../deliveries.js";

const connections = 20;

const body = bodyOf(1_024);
const signature = signatureOf(body, secret);

/**
 * Returns headers that are genuine for the service's receivers and, under GitHub's header names, for GitHub's.
 */
export const headersFor = (id: string) => ({
  ...headersOf(signature, id),
  "x-hub-signature-256": signature,
  "x-github-delivery": id,
  "x-github-event": "push",
});

/**
 * Sends deliveries of 1 kB for `ms`, one after the other on each connection, each with an id of its
 * own. Resolves with the number of responses.
 *
 * @throws Error if one request failed or got a status other than 2xx: a refusal takes less time
 */
export async function load(port: number, ms: number): Promise<number> {
  const { requests, non2xx, errors } = await autocannon({
    url: `http://127.0.0.1:${port}/webhooks`,
    method: "POST",
    // autocannon replaces [<id>] with a different text in each request.
    headers: headersFor("dlv_[<id>]"),
    body,
    idReplacement: true,
    connections,
    duration: ms / 1_000,
    // autocannon checks once per sample whether the time is over.
    sampleInt: 100,
  });
  // `errors` does not count connections that the server closes: autocannon reopens them and their
  // requests are lost. At the end, each connection has one request without a response.
  const lost = Math.max(requests.sent - requests.total - connections, 0);
  if (non2xx + errors + lost > 0) {
    throw new Error(`${non2xx} responses were not 2xx, ${errors + lost} requests failed.`);
  }
  return requests.total;
}
