import { createServer } from "node:http";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";

/* A receiver on PORT. With the argument `wrong`, it accepts every request. */

const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET,
  on: { "email.sent": () => {} },
  log: () => {},
});
const accept = (request, response) => request.resume().on("end", () => response.end());

createServer(process.argv[2] === "wrong" ? accept : webhooks(receiver)).listen(
  Number(process.env.PORT),
  "127.0.0.1",
);
