import { isSvcError, type Client, type SvcError, type WebhookEvent } from "@svc-webhooks/client";
import type { OutcomeCode } from "@svc-webhooks/core";
import { Failure } from "../errors.js";
import { isOutcome } from "./outcome.js";
import { textOf } from "./terminal/table.js";

/**
 * Returns the options of a request to a control route, which only the sandbox has (`/_sandbox/…`). The request is not
 * retried, because a service other than the sandbox may respond with a status that the client would retry for a minute.
 */
const once = (signal: AbortSignal) => ({ signal, maxRetries: 0 });

/**
 * Requests a list from a control route of the sandbox, because the service's API cannot list these objects.
 *
 * @throws Failure `sandbox_only` (as a rejection) if the service is not a sandbox, and the client's errors
 */
export async function listFromSandbox<Item>(
  { request }: Client,
  name: "endpoints" | "domains",
  signal: AbortSignal,
): Promise<readonly Partial<Item>[]> {
  const list = await request<{ readonly data: unknown }>(
    "GET",
    `/_sandbox/${name}`,
    {},
    once(signal),
  )
    .then(({ data }) => itemsOf(data) as readonly Partial<Item>[] | undefined)
    .catch((error: unknown) => {
      if (isSvcError(error) && isOfAnother(error)) return undefined;
      throw error;
    });
  if (list) return list;
  throw new Failure(
    "sandbox_only",
    `Only the sandbox can list ${name}, because the service's interface has no operation for this.`,
    "Use the sandbox, or keep the ids that the service returned.",
  );
}

/** Returns whether an error shows that this is not a sandbox: an invalid response, or a status below 500 except 429. */
const isOfAnother = ({ code, status }: SvcError) =>
  code === "invalid_response" || (status !== undefined && status < 500 && status !== 429);

/** A delivery attempt. */
export interface Attempt {
  readonly n: unknown;
  readonly started_at: unknown;
  /** The status and the receiver's outcome code, such as `200 processed`, or the connection error. */
  readonly result: string;
  readonly status?: number;
  /** The outcome code that an svc-webhooks receiver stated in its response. Absent for any other receiver. */
  readonly code?: OutcomeCode;
  /** The duration in milliseconds. */
  readonly ms: unknown;
  /** Whether the sandbox tampered with the request, for example by signing it with a wrong secret. */
  readonly isTampered: boolean;
}

/**
 * Resolves to the attempts of a delivery, or to undefined if they cannot be read, for example because the service is
 * not a sandbox or does not have the delivery.
 *
 * @throws the reason of `signal` (as a rejection)
 */
export const attemptsFromSandbox = async (
  client: Client,
  delivery_id: unknown,
  signal: AbortSignal,
): Promise<readonly Attempt[] | undefined> =>
  attemptsIn((await deliveryFromSandbox(client, delivery_id, signal))?.attempts);

/**
 * Resolves to the sandbox's explanation of why an attempt got no response, or to undefined if there is none or the
 * request fails.
 *
 * @throws the reason of `signal` (as a rejection)
 */
export async function reasonFromSandbox(
  client: Client,
  delivery_id: unknown,
  { n }: Pick<Attempt, "n">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/attempts/${encodeURIComponent(String(n))}`;
  const attempt = await deliveryFromSandbox<{ readonly error?: { readonly text?: unknown } }>(
    client,
    delivery_id,
    signal,
    path,
  );
  const text = attempt?.error?.text;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/**
 * Resolves to a delivery or a part of it, or to undefined if the request fails, for example because the service is not
 * a sandbox or does not have the delivery.
 *
 * @param path the path of the part, relative to the delivery
 * @throws the reason of `signal` (as a rejection)
 */
export async function deliveryFromSandbox<
  Part = { readonly attempts: unknown; readonly endpoint_id: unknown },
>(
  { request }: Client,
  delivery_id: unknown,
  signal: AbortSignal,
  path = "",
): Promise<Part | undefined> {
  try {
    // Replaces lone surrogates, for which `encodeURIComponent` would throw. Only another service may send them.
    const id = encodeURIComponent(Buffer.from(String(delivery_id)).toString());
    return await request<Part>("GET", `/_sandbox/deliveries/${id}${path}`, {}, once(signal));
  } catch (error) {
    signal.throwIfAborted();
    // Returns undefined for any error of the client: another service may respond with any status or with a web page.
    if (isSvcError(error)) return undefined;
    throw error;
  }
}

/** Returns the attempts in a list, or undefined if the value is not a list. */
const attemptsIn = (attempts: unknown): readonly Attempt[] | undefined =>
  itemsOf(attempts)?.map(({ n, started_at, status, code, error, ms, tamper }) => {
    const parts = status === undefined ? [error] : [status, code];
    return {
      n,
      started_at,
      result: parts.filter(Boolean).map(textOf).join(" "),
      ...(typeof status === "number" ? { status } : {}),
      ...(isOutcome(code) ? { code } : {}),
      ms,
      isTampered: tamper !== undefined,
    };
  });

/** A delivery, with its attempts if the service is a sandbox. */
export type Followed = WebhookEvent & { readonly attemptsMade?: readonly Attempt[] };

/** The number of empty pages after which a list counts as ended, in case the service always names a next page. */
const mostEmptyPages = 10;

/** Lists deliveries, newest first. */
export type FollowDeliveries = () => AsyncIterable<Followed>;

/**
 * Returns a function that lists deliveries, for commands that poll. From a sandbox, it reads a control route, so that
 * the sandbox's timeline shows only the user's requests. From any other service, it reads the API. A list with empty
 * pages ends even if the service always names a next page. A list whose pages always contain deliveries may not end, so
 * the caller must limit the number of deliveries.
 *
 * @param endpoint the id of the endpoint whose deliveries to list, or undefined for those of all endpoints
 */
export function followDeliveries(
  { request, webhookEvents }: Client,
  endpoint: string | undefined,
  signal: AbortSignal,
): FollowDeliveries {
  let isSandbox = true;
  let isKnown = false;
  const query = { webhook_endpoint_id: endpoint, limit: 100 };

  async function pageAfter(after: string | undefined) {
    try {
      return await request<{ readonly data: unknown; readonly next_cursor: unknown }>(
        "GET",
        "/_sandbox/deliveries",
        { query: { ...query, after } },
        isKnown ? { signal } : once(signal),
      );
    } catch (error) {
      // Without a response, for example after a failed connection, it is unknown whether this is a sandbox.
      if (!isSvcError(error) || error.status === undefined) throw error;
      return { data: undefined, next_cursor: undefined };
    }
  }

  async function* fromSandbox(): AsyncGenerator<Followed, void, undefined> {
    const seen = new Set<string>();
    let after: string | undefined;
    for (;;) {
      const { data, next_cursor } = await pageAfter(after);
      const items = itemsOf(data) as
        readonly (WebhookEvent & { readonly results: unknown })[] | undefined;
      isSandbox = items !== undefined;
      isKnown = true;
      for (const { results, ...event } of items ?? [])
        yield { ...(event as WebhookEvent), attemptsMade: attemptsIn(results) ?? [] };
      if (typeof next_cursor !== "string" || seen.has(next_cursor) || !items?.length) return;
      seen.add(next_cursor);
      after = next_cursor;
    }
  }

  async function* fromService(): AsyncGenerator<Followed, void, undefined> {
    let empty = 0;
    for await (const { data } of webhookEvents.list(query, { signal }).pages()) {
      yield* data;
      if (data.length === 0) empty += 1;
      if (empty >= mostEmptyPages) return;
    }
  }

  return async function* () {
    if (isSandbox) yield* fromSandbox();
    if (!isSandbox) yield* fromService();
  };
}

/** Adds lines of the app's output to an attempt in the sandbox. Ignores errors, because the lines were also printed. */
export async function addLogLines(
  { request }: Client,
  delivery_id: string,
  n: unknown,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const path = `/_sandbox/deliveries/${delivery_id}/attempts/${String(n)}/log` as const;
  await request("POST", path, { body: { lines } }, { signal }).catch(() => {});
}

/** Returns the objects in a list, or undefined if the value is not a list. */
const itemsOf = (value: unknown) =>
  Array.isArray(value)
    ? value.filter((item): item is Readonly<Record<string, unknown>> => isObject(item))
    : undefined;

const isObject = (value: unknown) => typeof value === "object" && value !== null;
