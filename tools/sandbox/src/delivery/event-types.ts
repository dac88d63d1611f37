import type { Ledger } from "../assumptions/ledger.js";

export interface EventType {
  readonly type: string;
  readonly description: string;
}

const named: readonly EventType[] = [
  { type: "email.sent", description: "An email was passed to the recipient's server." },
  { type: "email.delivered", description: "The recipient's server accepted an email." },
  { type: "domain.updated", description: "The status of a sending domain has changed." },
];

/** Whether an event type exists: the interface document names it, or A-03 adds it. */
export const isEventType = (ledger: Ledger, type: string): boolean =>
  eventTypes(ledger).some((known) => known.type === type);

/** Returns all event types: those that the interface document names, and those that A-03 adds. */
export const eventTypes = (ledger: Ledger): readonly EventType[] => [
  ...named,
  ...ledger
    .get("eventTypes")
    .filter((type) => !named.some((known) => known.type === type))
    .map((type) => ({ type, description: "A type that A-03 adds." })),
];
