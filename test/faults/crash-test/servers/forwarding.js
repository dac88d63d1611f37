/* A receiver that forwards each event to a ledger, and remembers none. */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

const { LEDGER_URL, PORT, SIGNING_SECRET } = process.env;

/** Whether it responds to no delivery any more. */
let hangs = false;

createServer(async (request, response) => {
  const body = await buffer(request);
  const expected = createHmac("sha256", SIGNING_SECRET).update(body).digest("hex");
  if (request.headers["x-svc-signature"] !== `sha256=${expected}`) response.statusCode = 401;
  else {
    const id = request.headers["x-svc-delivery-id"];
    const sending = fetch(`${LEDGER_URL}/entries`, { method: "POST", body: id });
    const isFailed = await sending.then(
      ({ status }) => void (response.statusCode = status),
      () => true,
    );
    hangs ||= isFailed === true && process.argv.includes("--hang-on-failure");
    if (hangs) return;
    if (isFailed) response.statusCode = 500;
  }
  response.end();
}).listen(Number(PORT), "127.0.0.1");
