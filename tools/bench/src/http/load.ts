import autocannon from "autocannon";
import { bodyOf, headersOf, secret, signatureOf } from "../deliveries.js";

const connections = 20;

const body = bodyOf(1_024);
const signature = signatureOf(body, secret);

/**
 * Returns headers that are genuine for receivers of this service and, under GitHub's header names, for GitHub's
 * receivers.
 */
export const headersFor = (id: string) => ({
  ...headersOf(signature, id),
  "x-hub-signature-256": signature,
  "x-github-delivery": id,
  "x-github-event": "push",
});

/**
 * Sends deliveries of 1 kB for `ms` milliseconds, one after the other on each connection, each with its own id.
 * Resolves to the number of responses.
 *
 * @throws Error (as a rejection) if a request failed or its status was not 2xx, because a rejected delivery takes less
 *   time
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
    // Takes short samples, because autocannon checks only once per sample whether the time is up.
    sampleInt: 100,
  });
  // `errors` does not include connections that the server closes: autocannon reopens them, and the requests on them are
  // lost. Counts every request without a response as lost, minus one per connection, which may still be pending at the
  // end.
  const lost = Math.max(requests.sent - requests.total - connections, 0);
  if (non2xx + errors + lost > 0) {
    throw new Error(`${non2xx} responses were not 2xx, and ${errors + lost} requests failed.`);
  }
  return requests.total;
}
