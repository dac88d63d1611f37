import {
  createReceiver,
  memoryStore,
  type ClaimResult,
  type CommonOptions,
  type DeliveryReport,
  type OutcomeCode,
  type Receiver,
  type SecretSource,
} from "@svc-webhooks/core";

// This module runs in every runtime, so it imports nothing of Node or of a framework.

/**
 * The options that a user writes for each body of an event. A body with a `type` needs none: its event
 * id is then that of the header. A bare one has neither, so both come from the send that it contains.
 */
const optionsByBody = {
  envelope: {},
  short: {},
  bare: {
    eventType: ({ status }) => `email.${String(status)}`,
    eventId: ({ send_id, status }) => `${String(send_id)} ${String(status)}`,
  },
  /** The options for a CloudEvent, whose type is longer than the service's. */
  custom: {
    eventType: ({ type }) => String(type).replace("test.example.", ""),
    eventId: ({ id }) => String(id),
  },
} satisfies Readonly<Record<string, Pick<CommonOptions, "eventType" | "eventId">>>;

export type BodyName = keyof typeof optionsByBody;
export const bodyNames = Object.keys(optionsByBody) as BodyName[];

/** One start of the handler. */
export interface Run {
  readonly type: string;
  readonly deliveryId: string;
  readonly eventId: string | undefined;
  /** Whether the event id comes from the body. */
  readonly eventIdSigned: boolean;
  /** The sender's count of attempts. */
  readonly attempt: number | undefined;
  /** The receiver's count of runs. */
  readonly run: number | undefined;
  readonly secretId: string | undefined;
  /** The body of the delivery, as it arrived. */
  readonly text: string;
  readonly result: "failed" | "handled";
}

export interface InboxSettings {
  readonly secrets: Extract<SecretSource, readonly unknown[]>;
  /** The number of failed runs of each event before one succeeds. Default 1. */
  readonly failures?: number;
  /** Whether a run lasts until a copy of its delivery has been refused as `in_flight`. */
  readonly awaitsCopy?: boolean;
}

export interface InboxNotes {
  readonly runs: readonly Run[];
  readonly outcomes: readonly OutcomeCode[];
}

/** The result of one more claim of each record in the store. */
export type Claims = readonly ClaimResult["status"][];

/** A receiver that a test configures and observes over HTTP. */
export interface Inbox {
  readonly receiver: Receiver;
  /**
   * Handles the test's requests. PUT replaces the settings and clears the notes; PATCH changes settings; GET
   * returns {@link InboxNotes}; DELETE claims the records that are not done, and returns {@link Claims}.
   */
  readonly control: (request: Request) => Promise<Response>;
}

export function createInbox(body: BodyName): Inbox {
  let settings: InboxSettings = { secrets: [] };
  let runs: Run[] = [];
  let reports: DeliveryReport[] = [];
  let keys = new Set<string>();
  const memory = memoryStore();

  const wasRefused = (deliveryId: string) =>
    reports.some((report) => report.deliveryId === deliveryId && report.code === "in_flight");

  const receiver = createReceiver({
    ...optionsByBody[body],
    // `secret` is a function, because the service creates the secret after the server has started.
    secret: () => settings.secrets,
    name: `inbox-${body}`,
    store: {
      ...memory,
      claim(key, ...rest) {
        keys.add(key);
        return memory.claim(key, ...rest);
      },
    },
    on: {
      "email.*": async (_event, context) => {
        const { type, deliveryId, eventId, eventIdSigned, attempt, run, secretId } = context;
        // This polls, because a Worker must not await a promise that another request settles.
        while (settings.awaitsCopy && !wasRefused(deliveryId)) {
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        const earlier = runs.filter((one) => one.deliveryId === deliveryId).length;
        const result = earlier < (settings.failures ?? 1) ? "failed" : "handled";
        const text = new TextDecoder().decode(context.delivery.body);
        runs.push({
          type,
          deliveryId,
          eventId,
          eventIdSigned,
          attempt,
          run,
          secretId,
          text,
          result,
        });
        if (result === "failed") throw new Error("The database is unavailable.");
      },
    },
    observe: (report) => void reports.push(report),
    onHandlerError: () => {},
    log: () => {},
  });

  const claims = async (): Promise<Claims> => {
    const claim = { token: "test", leaseMs: 30_000, retainMs: 604_800_000 };
    const { signal } = new AbortController();
    const results = Array.from(keys, async (key) => memory.claim(key, claim, { signal }));
    return (await Promise.all(results)).map(({ status }) => status);
  };

  return {
    receiver,
    async control(request) {
      if (request.method === "DELETE") return Response.json(await claims());
      if (request.method === "PATCH") {
        settings = { ...settings, ...((await request.json()) as Partial<InboxSettings>) };
      }
      if (request.method === "PUT") {
        settings = (await request.json()) as InboxSettings;
        [runs, reports, keys] = [[], [], new Set()];
      }
      const outcomes = reports.map(({ code }) => code);
      return Response.json({ runs, outcomes } satisfies InboxNotes);
    },
  };
}

/** Creates an inbox for each body, at its path. */
export const createInboxes = (): readonly (Inbox & { readonly path: string })[] =>
  bodyNames.map((body) => ({ path: `/inboxes/${body}`, ...createInbox(body) }));
