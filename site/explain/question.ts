import type { ExplainRequest, Explanation } from "@svc-webhooks/explain";
import type { ExplainSenderRequest, RequestExplanation } from "@svc-webhooks/explain/senders";

/** A message to the worker. */
export type Question =
  | { readonly kind: "service"; readonly request: ExplainRequest }
  | { readonly kind: "sender"; readonly request: ExplainSenderRequest };

/** A message from the worker. */
export type Answer =
  | { readonly kind: "service"; readonly explanation: Explanation }
  | { readonly kind: "sender"; readonly explanation: RequestExplanation }
  /** The request was refused. `option` names the part of the request that is wrong, if it is known. */
  | { readonly kind: "error"; readonly option: string | undefined; readonly text: string };
