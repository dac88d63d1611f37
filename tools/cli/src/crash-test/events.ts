import { randomUUID } from "node:crypto";
import { headerNames } from "@svc-webhooks/core/adapter";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { bodiesOf } from "../doctor/bodies.js";
import { eventIdOf } from "../doctor/probe.js";
import { UsageError } from "../errors.js";
import { parseCaptured, useCaptureFile, type Captured } from "../lib/capture.js";
import { headerOf, passedHeaders, withHeaders } from "../lib/delivery-headers.js";
import { eventTypeOf } from "../lib/event-type.js";
import { linesOf } from "../lib/lines.js";
import type { InputContext } from "../lib/read.js";
import type { HeaderList } from "../lib/target.js";
import { identityOf, type Identity } from "../schemes/identity.js";
import { signatureOf } from "../schemes/signature.js";

/** The maximum number of events in one history. */
const mostEvents = 3;

/** An event that the sender delivers. It is the same in each history. */
export interface SentEvent {
  readonly type: string;
  readonly body: Uint8Array;
  /** Resolves to the headers of an attempt, including its signature. */
  readonly headersOf: (attempt: number) => Promise<HeaderList>;
}

/** Resolves to the headers that depend on the body: the signature, and the headers that the sender adds with it. */
type Signing = (body: Uint8Array, facts: Identity) => Promise<HeaderList>;

/** Returns a function that signs as the service or the sender of `--scheme` does. Without a secret, it adds nothing. */
const signingWith =
  (secret: string | undefined, sender: Sender): Signing =>
  async (body, facts) =>
    secret === undefined
      ? []
      : Object.entries(await signatureOf(sender, body, { secret, ...facts }));

/**
 * Creates the events of `--event` and `--deliver`.
 *
 * @param secret the key that signs. Undefined for deliveries without a signature
 * @param sender the sender of `--scheme`
 * @throws UsageError (as a rejection) unless there are 1 to 3 events, and all lines of the files are saved requests
 */
export async function eventsOf(
  types: readonly string[],
  files: readonly string[],
  secret: string | undefined,
  sender: Sender,
  context: InputContext,
): Promise<readonly SentEvent[]> {
  const signing = signingWith(secret, sender);
  const saved: SentEvent[] = [];
  for (const file of files) saved.push(...(await savedIn(file, signing, sender, context)));
  const all = [...types.map((type) => newEvent(type, signing, sender)), ...saved];
  if (all.length >= 1 && all.length <= mostEvents) return all;
  throw new UsageError(
    `There ${all.length === 0 ? "is no event" : `are ${all.length} events`} to deliver.`,
    `Pass 1 to ${mostEvents} events: --event email.delivered, or --deliver with a file written by svc-webhooks listen --save.`,
  );
}

function newEvent(type: string, signing: Signing, sender: Sender): SentEvent {
  const body = bodiesOf(type, sender).plain();
  const deliveryId = sender === service ? `dlv_crash_${randomUUID()}` : randomUUID();
  const headersOf = async (attempt: number): Promise<HeaderList> => [
    ["content-type", "application/json"],
    ...(await signing(body, { type, deliveryId })),
    ...(sender === service ? ownHeaders(body, deliveryId, attempt) : []),
  ];
  return { type, body, headersOf };
}

const ownHeaders = (body: Uint8Array, deliveryId: string, attempt: number): HeaderList => [
  [headerNames.deliveryId, deliveryId],
  [headerNames.idempotencyKey, deliveryId],
  [headerNames.attempt, String(attempt)],
  [headerNames.eventId, eventIdOf(body)],
  [headerNames.subscriptionId, "sub_crash_test"],
];

async function savedIn(
  file: string,
  signing: Signing,
  sender: Sender,
  context: InputContext,
): Promise<readonly SentEvent[]> {
  const events: SentEvent[] = [];
  for await (const { text } of linesOf("--deliver", file, context)) {
    const captured = parseCaptured(text);
    if (!captured) {
      throw new UsageError(
        `--deliver names ${file}, which has a line that was not written by svc-webhooks listen --save.`,
        useCaptureFile,
      );
    }
    events.push(savedEvent(captured, signing, sender));
  }
  context.signal.throwIfAborted();
  return events;
}

function savedEvent(captured: Captured, signing: Signing, sender: Sender): SentEvent {
  const { body, headers } = captured;
  const type = eventTypeOf(body) ?? headerOf(headers, "x-event-type") ?? "a saved delivery";
  const identity = identityOf(sender.scheme, captured);
  return {
    type,
    body,
    async headersOf(attempt) {
      const own: HeaderList = [
        ...(await signing(body, await identity)),
        ...(sender === service ? ([[headerNames.attempt, String(attempt)]] as const) : []),
      ];
      return withHeaders(passedHeaders(headers, sender), own);
    },
  };
}
