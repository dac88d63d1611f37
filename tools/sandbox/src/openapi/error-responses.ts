import { z } from "zod";
import type { AssumptionId } from "../assumptions/table.js";
import type { ErrorCode } from "../errors.js";
import type { Operation } from "../service/operation.js";
import type { Ledger } from "../assumptions/ledger.js";
import type { Components } from "./components.js";
import { headersOf, type HeaderName } from "./headers.js";

const facts = {
  code: z.string(),
  param: z.string().optional().meta({
    description: "The name of the invalid field, parameter or header, if there is exactly one.",
  }),
  request_id: z.string(),
};

const problem = { type: z.string(), title: z.string(), status: z.int(), detail: z.string() };

const described = { id: "Error", "x-assumption": "A-11" };

/** The schemas of an error body, by the word of A-11 that selects them. */
const shapes = {
  nested: z.object({ error: z.object({ ...facts, message: z.string() }) }).meta(described),
  flat: z.object({ ...facts, message: z.string() }).meta(described),
  problem: z.object({ ...facts, ...problem }).meta(described),
};

/** Describes an error. @param assumption absent if the interface document specifies this status and code */
const refusal = (
  status: number,
  code: ErrorCode,
  text: string,
  assumption?: AssumptionId,
  ...headers: readonly HeaderName[]
) => ({ status, code, text, assumption, headers });

type Refusal = ReturnType<typeof refusal>;

/** Yields the errors that the OpenAPI document lists for an operation, in the order of the sandbox's checks. */
function* refusals(operation: Operation, ledger: Ledger): Iterable<Refusal> {
  const depends = (id: AssumptionId) => operation.assumptions.includes(id);
  const unauthenticated = "`Authorization: Bearer <API_KEY>` is missing.";
  yield refusal(401, "authentication_required", unauthenticated, undefined, "WWW-Authenticate");
  const limited =
    "Rate limit exceeded: `Retry-After` and the `X-RateLimit-*` headers specify how long to wait.";
  yield refusal(429, "rate_limited", limited, undefined, "Retry-After");
  if (operation.idempotent)
    yield refusal(400, "missing_idempotency_key", "`Idempotency-Key` is missing.");
  if (operation.request) {
    const text = `The body is larger than ${ledger.get("limits")} bytes.`;
    yield refusal(415, "unsupported_media_type", "The body is not `application/json`.", "A-28");
    yield refusal(413, "body_too_large", text, "A-24");
  }
  // The query of an operation that A-27 affects is never invalid, because its parameter accepts any text.
  if (operation.request || (operation.query && !depends("A-27")))
    yield refusal(400, "invalid_request", "A required field is missing or invalid.");
  if (depends("A-13")) {
    const status = ledger.get("errors.messageClass");
    yield refusal(status, "invalid_request", "`message_class` is not `transactional`.", "A-13");
  }
  if (depends("A-12")) yield refusal(404, "not_found", "No item has this id.", "A-12");
  if (depends("A-27") && ledger.get("event.identity") === "shared") {
    const text = "The event went to several endpoints. Choose one with `webhook_endpoint_id`.";
    yield refusal(400, "invalid_request", text, "A-27");
  }
  if (depends("A-14")) {
    const reused = "The idempotency key was already used with a different body.";
    yield refusal(ledger.get("idempotency"), "idempotency_conflict", reused, "A-14");
    const running = "The first request with this idempotency key is still running.";
    yield refusal(409, "idempotency_in_progress", running, "A-14", "Retry-After");
    const full = "Too many deliveries are waiting in the sandbox.";
    yield refusal(503, "too_many_pending", full, "A-28", "Retry-After");
  }
  if (depends("A-17")) {
    const text = "The delivery cannot be redelivered now, or its endpoint is archived.";
    yield refusal(409, "conflict", text, "A-17");
  }
  if (depends("A-19")) yield refusal(409, "conflict", "The endpoint is archived.", "A-28");
}

/** Returns the error responses of an operation by status, followed by `default` for any other error. */
export function errorResponses(
  operation: Operation,
  components: Components,
  ledger: Ledger,
): Readonly<Record<string, object>> {
  const shape = ledger.get("errors.shape");
  const error = components.schema(shapes[shape]);
  const response = (
    status: number | "default",
    description: string,
    codes: readonly string[],
    more: readonly HeaderName[],
  ) => {
    const code = { properties: { code: { enum: codes } } };
    const narrowed = shape === "nested" ? { properties: { error: code } } : code;
    const schema = codes.length === 0 ? error : { ...error, ...narrowed };
    const type = shape === "problem" ? "application/problem+json" : "application/json";
    return {
      description,
      headers: headersOf(status, ledger, more),
      content: { [type]: { schema } },
    };
  };

  const all = [...refusals(operation, ledger)];
  const responses = [...new Set(all.map(({ status }) => status))].map((status) => {
    const group = all.filter((item) => item.status === status);
    const isDocumented = group.some(({ assumption }) => assumption === undefined);
    const lines = group.map(
      ({ code, text, assumption }) =>
        `\`${code}\`${assumption === undefined ? "" : ` (${assumption})`}: ${text}`,
    );
    const codes = [...new Set(group.map(({ code }) => code))];
    const more = group.flatMap(({ headers }) => headers);
    return [
      status,
      {
        ...response(status, lines.join("\n\n"), codes, [...new Set(more)]),
        ...(isDocumented ? {} : { "x-assumption": group[0]?.assumption }),
      },
    ];
  });
  return {
    ...Object.fromEntries(responses),
    default: {
      ...response("default", "Any other error, such as one caused by an injected fault.", [], []),
      "x-assumption": "A-11",
    },
  };
}
