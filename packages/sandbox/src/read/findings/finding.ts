export type FindingCode =
  | "no_endpoint"
  | "type_not_subscribed"
  | "all_archived"
  | "url_refused"
  | "url_registered_twice"
  | "not_emitted"
  | "fault_waiting"
  | "receiver_refused_connection"
  | "receiver_responds_4xx"
  | "receiver_responds_5xx"
  | "receiver_redirects"
  | "receiver_fails"
  | "receiver_slow"
  | "receiver_ignores"
  | "relay_failed"
  | "clock_stands_still"
  | "waiting"
  | "call_rejected"
  | "wrong_base_url";

/** Creates a remedy. @param body the body of the request to the route, in which each `…` is a placeholder */
export const remedy = (text: string, route: string, body?: object): Finding["remedy"] => ({
  text,
  route,
  ...(body && { body }),
});

/** A problem that may be the reason why nothing arrived, or why a request was rejected. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: "error" | "warning" | "info";
  readonly text: string;
  /** The id of the item that shows the problem. */
  readonly item?: string;
  /** The fix, and the control route that applies it or shows the details. */
  readonly remedy: { readonly text: string; readonly route: string; readonly body?: object };
}
