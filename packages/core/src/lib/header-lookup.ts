import type { DeliveryHeaders, HeaderLookup, HeaderValue } from "../delivery.js";

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
