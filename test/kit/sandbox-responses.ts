import type { AssumptionState } from "../../tools/sandbox/src/assumptions/ledger.js";
import type { ResultOf } from "../../tools/sandbox/src/control/actions.js";
import type { domains, endpoints } from "../../tools/sandbox/src/read/lists.js";
import type * as queries from "../../tools/sandbox/src/read/queries.js";
import type {
  domainResource,
  secretResource,
  sendFields,
} from "../../tools/sandbox/src/service/resources.js";
import type { SendStatus } from "../../tools/sandbox/src/state/records.js";

/** A response in which optional members are present: a test fails if one that it reads is absent. */
type Whole<Value> = Value extends readonly (infer Item)[]
  ? number extends Value["length"]
    ? readonly Whole<Item>[]
    : Value
  : Value extends object
    ? { readonly [Member in keyof Value]-?: Whole<Value[Member]> }
    : Value;

interface List<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export type Call = Whole<ReturnType<typeof queries.callDetail>>;
export type Event = Whole<ReturnType<typeof queries.eventDetail>>;
export type Delivery = Call["events"][number]["deliveries"][number];
export type Fault = Whole<ResultOf<"add-fault">>;

/** A delivery, as `GET /v1/webhook-events` lists it. */
export interface WebhookEvent {
  readonly event_id: string;
  readonly source_event_id: string;
  readonly delivery_id: string;
  readonly subscription_id: string;
  readonly webhook_endpoint_id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
}

export type Send = ReturnType<typeof sendFields> & {
  readonly updated_at: string;
  readonly history: readonly {
    readonly status: SendStatus;
    readonly at: string;
    readonly note?: string;
  }[];
};

type Registered = ReturnType<typeof secretResource>;
type Domain = ReturnType<typeof domainResource>;

/** A refusal, in the default shape. */
export interface Refusal {
  readonly error: { readonly code: string; readonly message: string; readonly param: string };
}

type Delivered = ReturnType<typeof queries.deliveryDetail>;

/** The bodies of responses, by route. The first row that matches counts. */
type Bodies = [
  ["GET /_sandbox/", List<string>],
  ["GET overview", ReturnType<typeof queries.overview>],
  ["GET timeline", List<Call>],
  ["GET deliveries", List<WebhookEvent & { readonly results: Delivery["attempts"] }>],
  ["GET /_sandbox/deliveries", List<WebhookEvent>],
  ["GET endpoints", List<ReturnType<typeof endpoints>[number]>],
  ["GET domains", List<ReturnType<typeof domains>[number]>],
  ["GET faults", List<Fault>],
  ["GET assumptions", List<AssumptionState>],
  [`${"GET" | "POST"} clock`, ResultOf<"clock">],
  [`GET calls/${string}`, Call],
  [`GET sends/${string}`, ReturnType<typeof queries.sendDetail>],
  [`GET events/${string}`, Event],
  [`POST deliveries/${string}/send`, ResultOf<"send">],
  [`POST deliveries/${string}/explain`, ResultOf<"explain">],
  [
    `GET deliveries/${string}/attempts/${string}`,
    Awaited<ReturnType<typeof queries.attemptDetail>>,
  ],
  [`${"GET" | "POST"} deliveries/${string}`, Delivered],
  ["POST test-email", Send],
  ["POST endpoints", Registered],
  [`POST endpoints/${string}/rotate-secret`, Registered],
  [`POST endpoints/${string}/archive`, Registered["webhook_endpoint"]],
  [`POST domains/${string}`, Domain],
  [`POST faults${string}`, Fault],
  [`POST assumptions/${string}`, AssumptionState],
  ["GET checkpoints", List<ResultOf<"checkpoint">>],
  [`POST checkpoints${string}`, ResultOf<"checkpoint">],
  [`POST recording/${string}`, NonNullable<ResultOf<"stop-recording">>],
  ["POST reset", ResultOf<"reset">],
  ["POST /v1/emails", Send],
  [`GET /v1/sends/${string}`, Send],
  [`POST /v1/domains${string}`, Domain],
  ["GET /v1/webhook-event-types", List<{ readonly type: string }>],
  [`GET /v1/webhook-events${string}`, List<WebhookEvent>],
  [`POST /v1/webhook-events/${string}`, WebhookEvent],
  [`POST /v1/webhook-endpoints${string}`, Registered],
  [`DELETE /v1/webhook-endpoints/${string}`, Registered["webhook_endpoint"]],
];

type Find<Route extends string, Rows> = Rows extends [[infer Form, infer Body], ...infer Rest]
  ? Route extends Form
    ? Body
    : Find<Route, Rest>
  : unknown;

/** The body of a response to `"GET overview"` (a control route) or `"GET /v1/sends/send_x"`, or of a refusal. */
export type BodyOf<Route extends string> = Refusal &
  Whole<Find<Route extends `${infer Path}?${string}` ? Path : Route, Bodies>>;
