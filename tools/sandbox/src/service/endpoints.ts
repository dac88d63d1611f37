import type { z } from "zod";
import { eventTypes } from "../delivery/event-types.js";
import { conflict, invalid } from "../errors.js";
import type { AccountId, EndpointRecord } from "../state/records.js";
import type { endpointRequest } from "./schemas.js";
import type { Service } from "./service.js";

type EndpointRequest = z.output<typeof endpointRequest>;

/** Checks a new endpoint. @throws ApiError 400 for an unknown event type, or a URL that A-21 does not allow */
export async function checkEndpoint(
  { ledger, refuseUrl }: Service,
  { url, event_types }: EndpointRequest,
): Promise<void> {
  const known = eventTypes(ledger).map(({ type }) => type);
  const unknown = event_types.find((type) => !known.includes(type));
  if (unknown !== undefined) {
    throw invalid(
      "event_types",
      `There is no such event type. The types are: ${known.join(", ")}.`,
    );
  }
  const refused = await refuseUrl(url);
  if (refused !== undefined) throw invalid("url", refused);
}

/** Registers an endpoint that {@link checkEndpoint} has accepted. */
export function registerEndpoint(
  { state, ids, clock }: Service,
  account: AccountId,
  { url, event_types }: EndpointRequest,
): EndpointRecord {
  const types = [...new Set(event_types)];
  const subscriptions = ["*", ...types].map((type) => [type, ids.next("sub")]);
  return state.endpoints.put({
    id: ids.next("we"),
    account,
    url,
    eventTypes: types,
    createdAt: clock.now(),
    subscriptions: Object.fromEntries(subscriptions),
    status: "active",
    secret: ids.secret(),
  });
}

/** Gives an endpoint a new secret. @throws ApiError 409 if it is archived */
export function rotateSecret(
  { state, ids, clock, ledger }: Service,
  endpoint: EndpointRecord,
): void {
  if (endpoint.status !== "active") {
    throw conflict("The endpoint is archived, so its secret cannot be rotated.");
  }
  const rule = ledger.get("rotation");
  const until = clock.now() + (rule.mode === "deferred" ? rule.forMs : 0);
  endpoint.previous = { secret: endpoint.secret, until };
  endpoint.secret = ids.secret();
  state.endpoints.put(endpoint);
}

/** Archives an endpoint and cancels its pending deliveries. May be called repeatedly. */
export function archiveEndpoint({ state, engine }: Service, endpoint: EndpointRecord): void {
  endpoint.status = "archived";
  state.endpoints.put(endpoint);
  engine.cancel(endpoint);
}
