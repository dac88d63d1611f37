import { z } from "zod";
import type { AssumptionId } from "../assumptions/table.js";
import type { ErrorCode } from "../errors.js";
import type { Operation } from "../service/operation.js";
import type { Ledger } from "../assumptions/ledger.js";
import type { Components } from "./components.js";
import { headersOf, type HeaderName } from "./headers.js";

const facts = {
  code: z.string(),
  param: z.string().optional().meta({ description: "What is invalid, if it is one thing." }),
  request_id: z.string(),
};

const problem = { type: z.string(), title: z.string(), status: z.int(), detail: z.string() };

const described = { id: "Error", "x-assumption": "A-11" };

/** Each shape of A-11. */
const shapes = {
  nested: z.object({ error: z.object({ ...facts, message: z.string() }) }).meta(described),
  flat: z.object({ ...facts, message: z.string() }).meta(described),
  problem: z.object({ ...facts, ...problem }).meta(described),
};

interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly text: string;
  /** Absent if the interface document has this status and code. */
  readonly assumption?: AssumptionId;
  readonly headers?: readonly HeaderName[];
}

/** The errors of an operation, in the order in which they are checked. */
function* refusals(operation: Operation, ledger: Ledger): Iterable<Refusal> {
  const depends = (id: AssumptionId) => operation.assumptions.includes(id);
  yield {
    status: 401,
    code: "authentication_required",
    text: "`Authorization: Bearer <API_KEY>` is missing.",
    headers: ["WWW-Authenticate"],
  };
  yield {
    status: 429,
    code: "rate_limited",
    text: "Rate limit exceeded: wait as long as `Retry-After` and the `X-RateLimit-*` headers state.",
    headers: ["Retry-After"],
  };
  if (operation.idempotent) {
    yield { status: 400, code: "missing_idempotency_key", text: "`Idempotency-Key` is missing." };
  }
  if (operation.request) {
    yield {
      status: 415,
      code: "unsupported_media_type",
      text: "The body is not `application/json`.",
      assumption: "A-28",
    };
    yield {
      status: 413,
      code: "body_too_large",
      text: `The body has more than ${ledger.get("limits")} bytes.`,
      assumption: "A-24",
    };
  }
  // A parameter of A-27 is any text.
  if (operation.request || (operation.query && !depends("A-27"))) {
    yield {
      status: 400,
      code: "invalid_request",
      text: "A required field is missing or invalid.",
    };
  }
  if (depends("A-13")) {
    yield {
      status: ledger.get("errors.messageClass"),
      code: "invalid_request",
      text: "`message_class` is not `transactional`.",
      assumption: "A-13",
    };
  }
  if (depends("A-12")) {
    yield { status: 404, code: "not_found", text: "There is no such id.", assumption: "A-12" };
  }
  if (depends("A-27") && ledger.get("event.identity") === "shared") {
    yield {
      status: 400,
      code: "invalid_request",
      text: "The event went to several endpoints: choose one with `webhook_endpoint_id`.",
      assumption: "A-27",
    };
  }
  if (depends("A-14")) {
    yield {
      status: ledger.get("idempotency"),
      code: "idempotency_conflict",
      text: "The idempotency key was used with another body.",
      assumption: "A-14",
    };
    yield {
      status: 409,
      code: "idempotency_in_progress",
      text: "The first request with this idempotency key is still running.",
      assumption: "A-14",
      headers: ["Retry-After"],
    };
    yield {
      status: 503,
      code: "too_many_pending",
      text: "Too many deliveries are waiting in the sandbox.",
      assumption: "A-28",
      headers: ["Retry-After"],
    };
  }
  if (depends("A-17")) {
    yield {
      status: 409,
      code: "conflict",
      text: "The delivery must not be redelivered now, or its endpoint is archived.",
      assumption: "A-17",
    };
  }
  if (depends("A-19")) {
    yield {
      status: 409,
      code: "conflict",
      text: "The endpoint is archived.",
      assumption: "A-28",
    };
  }
}

/** The error responses of an operation, by status. */
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
    const found = all.filter((item) => item.status === status);
    const isDocumented = found.some(({ assumption }) => assumption === undefined);
    const text = found.map((item) => `\`${item.code}\`${marked(item.assumption)}: ${item.text}`);
    const codes = [...new Set(found.map(({ code }) => code))];
    const more = found.flatMap((item) => item.headers ?? []);
    return [
      status,
      {
        ...response(status, text.join("\n\n"), codes, [...new Set(more)]),
        ...(isDocumented ? {} : { "x-assumption": found[0]?.assumption }),
      },
    ];
  });
  return {
    ...Object.fromEntries(responses),
    default: {
      ...response(
        "default",
        "Any other error, such as a fault that the developer has ordered.",
        [],
        [],
      ),
      "x-assumption": "A-11",
    },
  };
}

const marked = (assumption: AssumptionId | undefined) =>
  assumption === undefined ? "" : ` (${assumption})`;
