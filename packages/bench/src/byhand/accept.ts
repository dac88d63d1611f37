import { isGenuine } from "./signature.js";

export interface Headers {
  readonly [lowerCaseName: string]: string | readonly string[] | undefined;
}

/** What a mail event looks like to whoever trusts the sender's schema. */
export interface Event {
  readonly type: string;
}

export type Handle = (event: Event) => unknown;

export interface ByHandOptions {
  readonly secret: string;
  readonly on: Readonly<Record<string, Handle>>;
}

/** A genuine event, and who takes it. */
export interface Accepted {
  readonly id: string;
  readonly event: Event;
  readonly handle: Handle;
}

/** What has to be done before anything is remembered. Answers a status where that is the end. */
export function acceptor({ secret, on }: ByHandOptions) {
  const handlers = new Map(Object.entries(on));

  return (headers: Headers, body: Buffer): Accepted | number => {
    const signature = headers["x-svc-signature"];
    const id = headers["x-svc-delivery-id"];
    if (typeof signature !== "string" || !isGenuine(body, signature, secret)) return 401;
    if (typeof id !== "string" || id === "") return 400;

    let event: Event | null;
    try {
      event = JSON.parse(body.toString()) as Event | null;
    } catch {
      return 400;
    }
    if (typeof event?.type !== "string") return 400;
    const handle = handlers.get(event.type);
    return handle ? { id, event, handle } : 200;
  };
}
