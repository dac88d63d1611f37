import { z } from "zod";
import { eventTypes } from "../delivery/event-types.js";
import { acceptedSend, domain, timestamp } from "../service/schemas.js";
import type { Ledger } from "../assumptions/ledger.js";
import { parameter, type Components } from "./components.js";

const identifier = z.string().min(1);

/** The schemas of a delivery's headers, by name. */
const deliveryHeaders = {
  "X-SVC-Signature": z
    .string()
    .regex(/^sha256=[0-9a-f]{64}$/)
    .meta({
      description:
        "HMAC-SHA256 over the exact raw request body, keyed with the endpoint signing secret. Compare in constant time.",
    }),
  "X-SVC-Delivery-Id": identifier.meta({
    description:
      "Identifies the delivery. All its attempts have the same value, except redeliveries if A-18 is `fresh`.",
  }),
  "Idempotency-Key": identifier.meta({ description: "The same value as `X-SVC-Delivery-Id`." }),
  "X-SVC-Subscription-Id": identifier.meta({
    description: "The subscription that matched the event.",
    "x-assumption": "A-26",
  }),
  "X-SVC-Event-Id": identifier.meta({
    description: "The event that is delivered.",
    "x-assumption": "A-27",
  }),
  "X-SVC-Attempt": z.int().min(1).meta({ description: "The number of this attempt." }),
};

/** Returns the schema of an event's `data`, which depends on the prefix of the event's type. */
const dataOf = (type: string): z.ZodType => {
  if (type.startsWith("email.")) return acceptedSend;
  if (type.startsWith("domain."))
    return domain.pick({ domain_id: true, domain_name: true, status: true });
  return z.record(z.string(), z.unknown());
};

/** Returns the schema of a delivery's body. */
function bodyOf(type: string, shape: string): z.ZodType {
  const data = dataOf(type);
  switch (shape) {
    case "envelope":
      return z.object({ event_id: z.string(), type: z.literal(type), created_at: timestamp, data });
    case "short":
      return z.object({ id: z.string(), type: z.literal(type), timestamp, data });
    case "bare":
      return data;
    default:
      return z.unknown();
  }
}

const seconds = (ms: number) => `${ms / 1_000} s`;

/** Returns an OpenAPI webhook for each event type, by type. */
export function webhookObjects(
  components: Components,
  ledger: Ledger,
): Readonly<Record<string, object>> {
  const shape = ledger.list().find(({ id }) => id === "A-07")?.value ?? "";
  const { only200, timeoutMs } = ledger.get("delivery.success");
  const delays = ledger.get("delivery.retry").map(seconds).join(", ");
  const parameters = Object.entries(deliveryHeaders).map(([name, header]) =>
    parameter(name, "header", true, components.schema(header)),
  );
  const webhook = (type: string, description: string) => ({
    post: {
      operationId: `on ${type}`.replaceAll(/[ ._-]+(\w)/g, (_all, letter: string) =>
        letter.toUpperCase(),
      ),
      summary: description,
      description: "Sent to each active endpoint that subscribes to this type.",
      security: [],
      parameters,
      requestBody: {
        required: true,
        description: "Verify the signature over these exact bytes before parsing them.",
        content: {
          "application/json": {
            schema: { ...components.schema(bodyOf(type, shape)), "x-assumption": "A-07" },
          },
        },
      },
      responses: {
        [only200 ? "200" : "2XX"]: {
          description: `Acknowledges the delivery if this response arrives within ${seconds(timeoutMs)}.`,
          "x-assumption": "A-10",
        },
        default: {
          description:
            delays === ""
              ? "The attempt failed. The delivery is retried only if you call the redeliver operation."
              : `The attempt failed. The delivery is retried after delays of ${delays}, and whenever you call the redeliver operation. Redirects are not followed.`,
          "x-assumption": "A-09",
        },
      },
    },
  });
  return Object.fromEntries(
    eventTypes(ledger).map(({ type, description }) => [type, webhook(type, description)]),
  );
}
