import { errorText } from "@svc-webhooks/core/inbox";

/** Returns the error of a run as JSON that PostgreSQL stores, for pg-boss's own pages too. Never throws. */
export function recordOf(error: unknown): object {
  const message = errorText(error);
  try {
    const { name, code, stack } = Object(error) as Partial<Record<string, unknown>>;
    const texts = Object.entries({ name, code, stack }).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, errorText(value)]] : [],
    );
    return { message, ...Object.fromEntries(texts) };
  } catch {
    // An object without a prototype, or a proxy.
    return { message };
  }
}
