/** The headers of a delivery, lower-case (interface document, "Delivery headers"). None of them is signed. */
export const headerNames = {
  signature: "x-svc-signature",
  deliveryId: "x-svc-delivery-id",
  subscriptionId: "x-svc-subscription-id",
  eventId: "x-svc-event-id",
  attempt: "x-svc-attempt",
  idempotencyKey: "idempotency-key",
} as const;

/** One header as frameworks hand it over; several values are what the sender repeated. */
export type HeaderValue = string | readonly string[] | undefined;

/** `Headers`, a record whose names may have any case, or a look-up by lower-case name. */
export type DeliveryHeaders =
  Headers | Readonly<Record<string, HeaderValue>> | ((lowerCaseName: string) => HeaderValue);

/** Looks a header up by its lower-case name; `""` where it is absent. Repeated values are joined with `", "` (RFC 9110, section 5.3). */
export type HeaderLookup = (lowerCaseName: string) => string;

export function headerLookup(headers: DeliveryHeaders): HeaderLookup {
  if (typeof headers === "function") return (name) => joined(headers(name));
  // By its method, not its class: edge runtimes and test environments have several `Headers`.
  if (isHeaders(headers)) return (name) => headers.get(name) ?? "";
  const lowerCase = new Map<string, string>();
  for (const name of Object.keys(headers)) {
    const key = name.toLowerCase();
    const before = lowerCase.get(key);
    const value = joined(headers[name]);
    lowerCase.set(key, before && value ? `${before}, ${value}` : before || value);
  }
  return (name) => lowerCase.get(name) ?? "";
}

const joined = (value: HeaderValue = "") => (typeof value === "string" ? value : value.join(", "));

const isHeaders = (headers: object): headers is Headers =>
  typeof (headers as Headers).get === "function";
