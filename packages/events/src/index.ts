export { domainUpdated } from "./domain-updated.js";
export type { DomainData, DomainUpdatedEvent } from "./domain-updated.js";
export { emailDelivered, emailSent } from "./email.js";
export type { EmailData, EmailDeliveredEvent, EmailSentEvent } from "./email.js";
export { emailEvents } from "./email-events.js";
export type { EmailEvents } from "./email-events.js";
