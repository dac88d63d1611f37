import {
  createReceiver,
  memoryStore,
  type DeliveryStore,
  type Outcome,
  type ReceiverOptions,
  type Scheme,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import {
  clerk,
  discord,
  dodoPayments,
  github,
  gitlab,
  lemonSqueezy,
  linear,
  meta,
  notion,
  openai,
  paddle,
  polar,
  replicate,
  resend,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
  svix,
  woocommerce,
  zoom,
} from "../src/index.js";
import {
  senders as known,
  type SenderName,
  type SignOptions,
  type TestKeys,
} from "../src/senders.js";

export type Headers = Readonly<Record<string, string>>;

/** One sender, as the tests describe it. */
export interface Sender {
  readonly name: SenderName;
  readonly scheme: (options?: { readonly toleranceMs?: number }) => Scheme;
  /** The body of an event, with an id and a signed time for those that have them in the body. */
  readonly body: (given: {
    readonly id?: unknown;
    readonly type?: string;
    readonly at: number;
  }) => string;
  /** The routed type of the event `sent`. */
  readonly type: string;
  /** The header of the signed time; undefined if it is in another place, or nowhere. */
  readonly timestamp?: string;
  /** The place of the delivery id. */
  readonly id: "header" | "body" | "hash";
  /** The characters around a second signature in one header; undefined if there is only one signature. */
  readonly separator?: string;
}

export const senders: readonly Sender[] = [
  {
    name: "standard-webhooks",
    scheme: (options) => standardWebhooks(options),
    body: ({ type = "sent" }) => JSON.stringify({ type }),
    type: "sent",
    timestamp: "webhook-timestamp",
    id: "header",
    separator: " ",
  },
  {
    name: "standard-webhooks-ed25519",
    scheme: (options) => standardWebhooks({ ...options, algorithm: "ed25519" }),
    body: ({ type = "sent" }) => JSON.stringify({ type }),
    type: "sent",
    timestamp: "webhook-timestamp",
    id: "header",
    separator: " ",
  },
  {
    name: "svix",
    scheme: (options) => svix(options),
    body: ({ type = "sent" }) => JSON.stringify({ type }),
    type: "sent",
    timestamp: "svix-timestamp",
    id: "header",
    separator: " ",
  },
  {
    name: "stripe",
    scheme: (options) => stripe(options),
    body: ({ id = "evt_1", type = "sent" }) => JSON.stringify({ id, object: "event", type }),
    type: "sent",
    id: "body",
    separator: ",",
  },
  {
    name: "github",
    scheme: () => github(),
    body: () => JSON.stringify({ action: "opened" }),
    type: "sent.opened",
    id: "header",
  },
  {
    name: "slack",
    scheme: (options) => slack(options),
    body: ({ id = "Ev1", type = "sent" }) =>
      JSON.stringify({ type: "event_callback", event_id: id, event: { type } }),
    type: "sent",
    timestamp: "x-slack-request-timestamp",
    id: "body",
  },
  {
    name: "shopify",
    scheme: () => shopify(),
    body: () => JSON.stringify({ order_number: 1 }),
    type: "sent",
    id: "header",
  },
  {
    name: "paddle",
    scheme: (options) => paddle(options),
    body: ({ id = "ntf_1", type = "sent" }) =>
      JSON.stringify({ notification_id: id, event_id: "evt_1", event_type: type }),
    type: "sent",
    id: "body",
    separator: ";",
  },
  {
    name: "linear",
    scheme: (options) => linear(options),
    body: ({ at, type = "sent" }) =>
      JSON.stringify({ type, action: "create", webhookTimestamp: at }),
    type: "sent.create",
    id: "header",
  },
  {
    name: "discord",
    scheme: (options) => discord(options),
    body: ({ type = "sent" }) => JSON.stringify({ type: 1, event: { type } }),
    type: "sent",
    timestamp: "x-signature-timestamp",
    id: "hash",
  },
  {
    name: "sendgrid",
    scheme: (options) => sendgrid(options),
    body: ({ type = "sent" }) => JSON.stringify([{ event: type }]),
    type: "events",
    timestamp: "x-twilio-email-event-webhook-timestamp",
    id: "hash",
  },
  ...(
    [
      ["resend", resend],
      ["clerk", clerk],
      ["openai", openai],
      ["polar", polar],
      ["dodo-payments", dodoPayments],
    ] as const
  ).map(([name, scheme]): Sender => {
    const [header = ""] = known[name].form.idHeaders;
    return {
      name,
      scheme: (options) => scheme(options),
      body: ({ type = "sent" }) => JSON.stringify({ type }),
      type: "sent",
      timestamp: header.replace("-id", "-timestamp"),
      id: "header",
      separator: " ",
    };
  }),
  {
    name: "gitlab",
    scheme: (options) => gitlab(options),
    body: ({ type = "sent" }) =>
      JSON.stringify({ object_kind: type, object_attributes: { action: "open" } }),
    type: "sent.open",
    timestamp: "webhook-timestamp",
    id: "header",
    separator: " ",
  },
  {
    name: "replicate",
    scheme: (options) => replicate(options),
    body: ({ type = "sent" }) => JSON.stringify({ id: "1", status: type }),
    type: "sent",
    timestamp: "webhook-timestamp",
    id: "header",
    separator: " ",
  },
  {
    name: "zoom",
    scheme: (options) => zoom(options),
    body: ({ type = "sent" }) => JSON.stringify({ event: type }),
    type: "sent",
    timestamp: "x-zm-request-timestamp",
    id: "hash",
  },
  {
    name: "lemon-squeezy",
    scheme: () => lemonSqueezy(),
    body: ({ type = "sent" }) => JSON.stringify({ meta: { event_name: type } }),
    type: "sent",
    id: "hash",
  },
  {
    name: "meta",
    scheme: () => meta(),
    body: ({ type = "sent" }) => JSON.stringify({ object: type }),
    type: "sent",
    id: "hash",
  },
  {
    name: "notion",
    scheme: () => notion(),
    body: ({ id = "evt_1", type = "sent" }) => JSON.stringify({ id, type }),
    type: "sent",
    id: "body",
  },
  {
    name: "woocommerce",
    scheme: () => woocommerce(),
    body: () => JSON.stringify({ id: 1 }),
    type: "sent",
    id: "hash",
  },
];

export const isTimed = ({ name }: Sender): boolean => known[name].isTimed;

/** Returns the senders for which a condition holds, as rows of a table. */
export const sendersWith = (condition: (one: Sender) => unknown): readonly Sender[] =>
  senders.filter((one) => condition(one));

/** Returns one sender by name. */
export function sender(name: SenderName): Sender {
  const found = senders.find((one) => one.name === name);
  if (!found) throw new Error(`There is no sender ${name}.`);
  return found;
}

/** The header of the signature. */
export const signatureHeader = ({ scheme }: Sender): string => scheme().headers[0] ?? "";

type WorldOptions = Partial<Omit<ReceiverOptions, "clock">> & { readonly clock?: FakeClock };

/** A receiver of one sender on a fake clock, with new keys, and functions that sign and send. */
export async function worldOf(one: Sender, options: WorldOptions = {}) {
  const keys = await known[one.name].testKeys();
  return {
    keys,
    ...receiving(one.scheme(), { secret: keys.secret, ...options }),
    ...signing(one, keys),
  };
}

/** The same, with a body and the headers with which the sender has signed it now. */
export async function signedWorldOf(one: Sender, options?: WorldOptions) {
  const world = await worldOf(one, options);
  const at = world.clock.now();
  const body = one.body({ at });
  return { ...world, body, headers: await world.sign(body, { at }) };
}

/** A receiver with a scheme on a fake clock. */
export function receiving(scheme: Scheme, { clock = fakeClock(), ...options }: WorldOptions = {}) {
  const lines: string[] = [];
  const events: unknown[] = [];
  const store = memoryStore({ clock });
  const receiver = createReceiver({
    scheme,
    secret: "unset",
    name: "test",
    store,
    clock,
    on: { "*": (event) => void events.push(event) },
    log: (line) => lines.push(line),
    ...options,
  });
  const receive = (headers: Headers, body: string | Uint8Array): Promise<Outcome> =>
    receiver.receive({ method: "POST", headers, body: Buffer.from(body) });
  return { receiver, receive, clock, lines, events };
}

/** Functions that make bodies and headers as a sender does, for the event `sent`. */
function signing(one: Sender, { signingSecret }: TestKeys) {
  const sign = (
    body: string | Uint8Array,
    options: Partial<SignOptions> & { readonly at: number },
  ) =>
    known[one.name].sign(body, {
      secret: signingSecret,
      deliveryId: "dlv_1",
      type: "sent",
      ...options,
    });
  return { sign };
}

/** A store that counts its calls. */
export function countingStore(clock: FakeClock): {
  readonly store: DeliveryStore;
  readonly calls: string[];
} {
  const calls: string[] = [];
  const store = new Proxy(memoryStore({ clock }), {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        calls.push(String(name));
        return Reflect.apply(member, target, args);
      };
    },
  });
  return { store, calls };
}

/** Changes one header. */
export const withHeader = (
  headers: Headers,
  name: string,
  change: (value: string) => string,
): Headers => ({
  ...headers,
  [name]: change(headers[name] ?? ""),
});
