import type { z } from "zod/v4";
import { domainUpdated, type DomainUpdatedEvent } from "./domain-updated.js";
import {
  emailDelivered,
  emailSent,
  type EmailDeliveredEvent,
  type EmailSentEvent,
} from "./email.js";

/** The type of `emailEvents`. The declarations of an app can name it without naming zod. */
export type EmailEvents = {
  readonly "email.sent": z.ZodType<EmailSentEvent>;
  readonly "email.delivered": z.ZodType<EmailDeliveredEvent>;
  readonly "domain.updated": z.ZodType<DomainUpdatedEvent>;
};

/**
 * Schemas for the event types named in the interface document. Pass them as the `events` option of `createReceiver`.
 * Only the `type` of an event can make it invalid. Spread the map to add your own types: `{ ...emailEvents,
 * "email.bounced": z.looseObject({ … }) }`.
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: emailEvents,
 *   on: {
 *     "email.delivered": (event) => console.log(event.data?.recipients?.to),
 *     "domain.updated": (event) => console.log(event.data?.domain_name),
 *   },
 * });
 * ```
 */
export const emailEvents: EmailEvents = {
  "email.sent": emailSent,
  "email.delivered": emailDelivered,
  "domain.updated": domainUpdated,
};
