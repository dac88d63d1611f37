import { inboxContract } from "@svc-webhooks/testing/inbox";
import { describe, it } from "vitest";
import { simulatedInbox } from "./simulated-inbox.js";

for (const intake of [false, true]) {
  const name = `the inbox in memory${intake ? ", with an intake" : ""}`;
  inboxContract({ describe, it }, name, simulatedInbox(), {
    demote: true,
    fill: true,
    intake,
    order: true,
    silence: true,
  });
}
