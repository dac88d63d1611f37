import { inboxContract } from "@svc-webhooks/testing/inbox";
import { describe, it } from "vitest";
import { simulatedInbox } from "./simulated-inbox.js";

inboxContract({ describe, it }, "the inbox in memory", simulatedInbox(), {
  demote: true,
  fill: true,
  order: true,
  silence: true,
});
