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

/** A condition that may explain an unexpected result, such as a missing delivery or a rejected request. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: "error" | "warning" | "info";
  /** A description of the problem, in whole sentences. */
  readonly happened: string;
  /** The likely cause, in whole sentences. Absent if `happened` states it. */
  readonly cause?: string | undefined;
  /** The action to take. */
  readonly fix: string;
  /** The method and path of the control route that applies the fix or shows the details. */
  readonly route: string;
  /** The body of the request to the route, in which each `…` is a placeholder. */
  readonly body?: object;
  /** The id of the item that shows the problem. */
  readonly item?: string;
}
