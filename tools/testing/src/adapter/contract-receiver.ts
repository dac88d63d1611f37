import {
  answer,
  createReceiver,
  memoryStore,
  PermanentError,
  RetryError,
  type Answer,
  type Delivery,
  type DeliveryContext,
  type DeliveryStore,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type StandardSchemaV1,
} from "@svc-webhooks/core";
import { toDelivery, toResponse } from "@svc-webhooks/core/adapter";
import { pause } from "../pause.js";

export const contractSecret = "whsec_contract";
/** The receiver's body limit in bytes. It exceeds the default limit of Express's parsers, 100 KiB. */
export const contractBodyLimit = 262_144;

/** The header whose value names a list of {@link ContractMemory}. The receiver responds with the list and clears it. */
export const memoryHeader = "x-contract-memory";

/** The header that sets `bodyTimeoutMs` to 100 for its request. The usual timeout is long, for busy machines. */
export const hurryHeader = "x-contract-hurry";

/** The lists that a test can read. The receiver sends a list as JSON in place of an outcome's code. */
export interface ContractMemory {
  /** The codes of outcomes. */
  readonly codes: string[];
  /** The logged lines. */
  readonly lines: string[];
  /** The deliveries whose handlers have succeeded, in the order in which the handlers ended. */
  readonly deliveries: SeenDelivery[];
}

export interface SeenDelivery {
  readonly deliveryId: string;
  readonly attempt: number | undefined;
  readonly subscriptionId: string | undefined;
  /** The body's bytes as hex digits. */
  readonly hex: string;
}

/** The replies that the receiver sends as a scheme would, by the type of the event. */
export const contractReplies: Readonly<
  Record<"contract.no_content" | "contract.replies", Partial<Answer>>
> = {
  "contract.no_content": { status: 204, body: "" },
  "contract.replies": {
    headers: { "Content-Type": "text/plain;charset=utf-8", "X-Contract": "replied" },
    // The text has more bytes than characters, so that a wrong Content-Length is noticed.
    body: "a reply of €",
  },
};

/** The parameter of a GET request's query that the receiver returns, as a scheme would. */
export const challengeParameter = "contract.challenge";

const handlerTimeoutMs = 100;

const refusing: StandardSchemaV1 = {
  "~standard": {
    version: 1,
    vendor: "svc-webhooks",
    validate: () => ({ issues: [{ message: "confidential" }] }),
  },
};

/**
 * Creates the receiver that an adapter mounts for its contract. The type of an event selects its outcome, so that the
 * tests control the outcomes even if the receiver runs in another process or on another runtime.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { webhooks } from "svc-webhooks/node";
 * import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
 *
 * // Run this in a separate process or on another runtime, and pass the server's URL to the contract.
 * createServer(webhooks(contractReceiver())).listen(3000);
 * ```
 */
export function contractReceiver(): Receiver {
  const memory: ContractMemory = { codes: [], lines: [], deliveries: [] };
  // The types `contract.release`, `contract.store_goes` and `contract.secret_goes` each set a flag. `once` reads and
  // clears a flag.
  const next = { storeIsDown: false, secretIsGone: false, waitIsOver: false };

  const on: Readonly<Record<string, (context: DeliveryContext) => unknown>> = {
    "contract.fails": () => Promise.reject(new Error("confidential")),
    "contract.fails_later": () => Promise.reject(new RetryError({ retryAfterMs: 90_001 })),
    "contract.gives_up": () => Promise.reject(new PermanentError("confidential")),
    "contract.takes_its_time": () => pause(handlerTimeoutMs / 4),
    "contract.waits": async () => {
      // The handler polls, because a Cloudflare Worker must not await a promise of another request.
      while (!once(next, "waitIsOver")) await pause(10);
    },
    "contract.release": () => (next.waitIsOver = true),
    "contract.store_goes": () => (next.storeIsDown = true),
    "contract.secret_goes": () => (next.secretIsGone = true),
  };

  const store = memoryStore();
  const claim: DeliveryStore["claim"] = (key, request, call) => {
    if (once(next, "storeIsDown")) throw new Error("confidential");
    return store.claim(key, request, call);
  };

  const options: ReceiverOptions = {
    secret() {
      if (once(next, "secretIsGone")) throw new Error("confidential");
      return contractSecret;
    },
    store: { ...store, claim },
    events: { "contract.invalid": refusing },
    eventType({ type }) {
      if (type === "contract.throws") throw new Error("confidential");
      return typeof type === "string" ? type : undefined;
    },
    on: {
      "contract.*": async (_event, context) => {
        await on[context.type]?.(context);
        memory.deliveries.push(seen(context));
      },
    },
    maxBodyBytes: contractBodyLimit,
    bodyTimeoutMs: 300_000,
    handlerTimeoutMs,
    onParked: () => {},
    onHandlerError: () => {},
    log: (line) => memory.lines.push(line),
    observe: ({ code }) => memory.codes.push(code),
  };
  const receiver = createReceiver(options);
  const hurried = createReceiver({ ...options, store: memoryStore(), bodyTimeoutMs: 100 });

  const receive: Receiver["receive"] = async (delivery, callOptions) => {
    const challenge = challengeOf(delivery);
    if (challenge !== null) return invented("handshake", { body: challenge });
    const list = headerOf(delivery, memoryHeader) as keyof ContractMemory | undefined;
    const isHurried = headerOf(delivery, hurryHeader) !== undefined;
    if (!list)
      return replied(await (isHurried ? hurried : receiver).receive(delivery, callOptions));
    // Returns the list as the code, because every adapter sends the code to the client.
    return invented(JSON.stringify(memory[list].splice(0)));
  };

  return {
    ...receiver,
    receive,
    async fetch(request, _env, context) {
      const waitUntil = context?.waitUntil?.bind(context);
      return toResponse(request, answer(await receive(toDelivery(request), { waitUntil })));
    },
  };
}

const invented = (code: string, reply?: Partial<Answer>) =>
  ({ code, status: 200, receivedAt: 0, warnings: [], reply }) as unknown as Outcome;

const challengeOf = ({ method, url = "" }: Delivery) =>
  method === "GET" ? new URLSearchParams(url.split("?")[1]).get(challengeParameter) : null;

function replied(outcome: Outcome): Outcome {
  const reply = (contractReplies as Readonly<Record<string, Partial<Answer>>>)[outcome.type ?? ""];
  return reply ? { ...outcome, reply } : outcome;
}

function once<Name extends string>(flags: Record<Name, boolean>, name: Name): boolean {
  const was = flags[name];
  flags[name] = false;
  return was;
}

const seen = ({
  deliveryId,
  attempt,
  subscriptionId,
  delivery,
}: DeliveryContext): SeenDelivery => ({
  deliveryId,
  attempt,
  subscriptionId,
  hex: Array.from(delivery.body, (byte) => byte.toString(16).padStart(2, "0")).join(""),
});

function headerOf({ headers }: Delivery, name: string): string | undefined {
  if (typeof headers === "function") return headers(name)?.toString();
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  return Object.entries(headers)
    .find(([key]) => key.toLowerCase() === name)?.[1]
    ?.toString();
}
