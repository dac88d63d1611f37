import type { DeliveryHeaders, HeaderLookup, HeaderValue } from "../delivery.js";

export function headerLookup(headers: DeliveryHeaders | null | undefined): HeaderLookup {
  if (typeof headers === "function") return (name) => joined(headers(name));
  // Checks the method, not the class: edge runtimes and test environments have several `Headers`
  // classes.
  if (isHeaders(headers)) return (name) => headers.get(name) ?? "";
  const lowerCase = new Map<string, string>();
  for (const [name, values] of Object.entries(headers ?? {})) {
    const key = name.toLowerCase();
    const previous = lowerCase.get(key);
    const value = joined(values);
    lowerCase.set(key, previous && value ? `${previous}, ${value}` : previous || value);
  }
  return (name) => lowerCase.get(name) ?? "";
}

const joined = (value: HeaderValue = "") =>
  typeof value === "string" ? value : [value].flat().join(", ");

const isHeaders = (headers: unknown): headers is Headers =>
  typeof (headers as Partial<Headers> | null | undefined)?.get === "function";
