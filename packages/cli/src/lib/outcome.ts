import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";

/**
 * Returns the outcome in a response of a receiver of svc-webhooks: `{"status":"processed"}` or
 * `{"error":{"code":"signature_mismatch"}}`. Other servers may use the same words, but not with the same
 * `Cache-Control`.
 */
export function outcomeIn(caching: string | undefined, body: string): OutcomeCode | undefined {
  if (caching !== "no-store") return undefined;
  try {
    const { status, error } = JSON.parse(body) as {
      readonly status?: unknown;
      readonly error?: { readonly code?: unknown };
    };
    const code = error?.code ?? status;
    return typeof code === "string" && Object.hasOwn(outcomeTexts, code)
      ? (code as OutcomeCode)
      : undefined;
  } catch {
    return undefined;
  }
}
