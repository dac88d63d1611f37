import type { z } from "zod";
import type { Operation } from "../service/operation.js";
import { idempotencyKey } from "../service/schemas.js";
import type { Ledger } from "../assumptions/ledger.js";
import { parameter, type Components, type JsonSchema } from "./components.js";
import { errorResponses } from "./error-responses.js";
import { headersOf } from "./headers.js";

/** The second success response of an operation, by the operation's id. */
const otherSuccess: Readonly<Record<string, { readonly status: number; readonly text: string }>> = {
  createDomain: { status: 200, text: "The domain had already been added (A-05)." },
};

/** The id of the only operation whose success status the interface document specifies. */
const documentedStatus = "sendEmail";

export function operationObject(
  operation: Operation,
  components: Components,
  ledger: Ledger,
): object {
  const { id, summary, request, query } = operation;
  return {
    operationId: id,
    summary,
    parameters: [
      ...pathParameters(operation.path),
      ...(operation.idempotent ? [idempotencyParameter(components)] : []),
      ...(query ? queryParameters(components.schema(query, "output")) : []),
    ],
    ...(request
      ? {
          requestBody: {
            required: true,
            content: { "application/json": { schema: components.schema(request) } },
          },
        }
      : {}),
    responses: {
      ...successResponses(operation, components, ledger),
      ...errorResponses(operation, components, ledger),
    },
    "x-assumptions": operation.assumptions,
  };
}

const pathParameters = (path: string) =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

const idempotencyParameter = (components: Components) => ({
  name: "Idempotency-Key",
  in: "header",
  required: true,
  description:
    "Reuse a key only when retrying the same logical request after a timeout or lost response.",
  schema: components.schema(idempotencyKey),
});

/** Returns one parameter for each property of a query's schema. */
function queryParameters({ properties = {}, required = [] }: JsonSchema): readonly object[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, schema]) =>
    parameter(name, "query", (required as readonly string[]).includes(name), schema),
  );
}

function successResponses(
  operation: Operation,
  components: Components,
  ledger: Ledger,
): Readonly<Record<string, object>> {
  const status =
    operation.id === "archiveWebhookEndpoint" ? ledger.get("delete") : operation.status;
  const content = {
    "application/json": { schema: responseSchema(operation.response, components, ledger) },
  };
  const response = (description: string) => ({
    description,
    headers: headersOf(status, ledger),
    ...(status === 204 ? {} : { content }),
    ...(operation.id === documentedStatus ? {} : { "x-assumption": "A-28" }),
  });
  const other = otherSuccess[operation.id];
  return {
    [status]: response(operation.id === documentedStatus ? "Accepted for processing." : "Done."),
    ...(other ? { [other.status]: response(other.text) } : {}),
  };
}

/**
 * Returns the schema of a response. For a list, returns the form that A-15 selects. For a response that may have no
 * body, returns the form with a body.
 */
function responseSchema(schema: z.ZodType, components: Components, ledger: Ledger): JsonSchema {
  const { anyOf, ...rest } = components.schema(schema);
  if (!Array.isArray(anyOf)) return rest;
  const isArray = rest["x-assumption"] === "A-15" && ledger.get("pagination") === "array";
  return { ...(anyOf[isArray ? 1 : 0] as JsonSchema), ...rest };
}
