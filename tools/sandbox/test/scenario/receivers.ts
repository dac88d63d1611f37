import { createHmac, timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { createReceiver } from "@svc-webhooks/core";
import { expressApp, expresses, listen } from "@svc-webhooks/kit/servers";

export const [oldSecret, newSecret] = ["whsec_TheFirstSecret01", "whsec_TheSecondSecret2"] as const;

/** A receiver of this repository, on Express, that accepts both secrets. */
export async function rightReceiver(): Promise<string> {
  const receiver = createReceiver({
    secret: [newSecret, oldSecret],
    on: { "*": async () => {} },
    log: () => {},
  });
  const [{ express }] = expresses;
  return urlOf(expressApp(express, receiver) as RequestListener);
}

const urlOf = async (listener: RequestListener) =>
  `http://127.0.0.1:${await listen(listener)}/webhooks`;

export interface Mistakes {
  /** The secrets that it accepts. Default: both. */
  readonly secrets?: readonly string[];
  /** The status of its response to an event that it has handled. Default 200. */
  readonly duplicates?: number;
  /** The status of its response to an email of which it has handled another event. Default 200. */
  readonly sameEmail?: number;
  /** Whether its response never comes. */
  readonly hangs?: boolean;
}

/** A receiver without a library, with the mistakes. */
export function handWritten({
  secrets = [oldSecret, newSecret],
  duplicates = 200,
  sameEmail = 200,
  hangs = false,
}: Mistakes): Promise<string> {
  const [events, emails] = [new Set<string>(), new Map<string, string>()];
  return urlOf(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (!body || hangs) return;
    const given = Buffer.from(String(request.headers["x-svc-signature"]));
    const isGenuine = secrets.some((secret) => {
      const expected = Buffer.from(
        `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      );
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
    if (!isGenuine) return void response.writeHead(401).end();
    const { event_id: event, data } = JSON.parse(body.toString()) as {
      readonly event_id: string;
      readonly data: { readonly email_id: string };
    };
    if (events.has(event)) return void response.writeHead(duplicates).end();
    const first = emails.get(data.email_id);
    if (first !== undefined) return void response.writeHead(sameEmail).end();
    events.add(event);
    emails.set(data.email_id, event);
    response.end();
  });
}
