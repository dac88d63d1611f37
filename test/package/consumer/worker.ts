import { createReceiver } from "@svc-webhooks/core";
import { emailEvents } from "@svc-webhooks/events";
import { deliver, secret } from "./deliver.js";

const receiver = createReceiver({
  secret,
  events: emailEvents,
  on: { "email.delivered": (event) => event.data?.email_id },
});

export default receiver;

console.log(await deliver(receiver.fetch, "email.delivered"));
