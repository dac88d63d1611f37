import { errorText } from "@svc-webhooks/core/inbox";

/**
 * Converts a run's error to an object that PostgreSQL can store as JSON and that pg-boss's dashboard can show. Never
 * throws.
 */
export function recordOf(error: unknown): object {
  const message = errorText(error);
  try {
    const { name, code, stack } = Object(error) as Partial<Record<string, unknown>>;
    const texts = Object.entries({ name, code, stack }).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, errorText(value)]] : [],
    );
    return { message, ...Object.fromEntries(texts) };
  } catch {
    // Reading a member failed: the error may be a proxy, or have a getter that throws.
    return { message };
  }
}
