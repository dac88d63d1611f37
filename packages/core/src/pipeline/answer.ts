import type { Outcome } from "../outcome.js";

/** An HTTP answer as every framework can send it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Stage 7, and the one way from an outcome to HTTP. Pure: adapters copy the result as it is.
 * Nothing of the payload, a key, a digest or a handler's error gets in.
 */
export function answer({ code, status, retryAfterMs }: Outcome): Answer {
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
  };
  if (retryAfterMs !== undefined) headers["Retry-After"] = retryAfter(retryAfterMs);
  if (code === "method_not_allowed") headers["Allow"] = "POST";
  // Required with every 401 (RFC 9110, section 15.5.2).
  if (status === 401) headers["WWW-Authenticate"] = "SVC-Signature";
  const content =
    status === 200 ? { status: code } : { error: { code, message: code.replaceAll("_", " ") } };
  return { status, headers, body: JSON.stringify(content) };
}

/** Whole seconds, 1 … 86,400 (RFC 9110, section 10.2.3). */
const retryAfter = (ms: number) => String(Math.min(Math.max(Math.ceil(ms / 1000) || 1, 1), 86_400));
