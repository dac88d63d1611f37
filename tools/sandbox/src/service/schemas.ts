import { z } from "zod";
import { deliveryStates } from "../state/records.js";

/*
 * The schemas of the requests and resources in the interface document. They validate requests, and the
 * OpenAPI document is generated from them. Each part that the interface document leaves open has the id
 * of its assumption.
 */

const assumed = (id: string, description?: string) => ({
  "x-assumption": id,
  ...(description === undefined ? {} : { description }),
});

/** Makes a schema reject control characters, which could inject a header into an email or a line into a log. */
const headerText = (schema: z.ZodString) =>
  schema.regex(
    /^[^\p{Cc}\u2028\u2029]*$/u,
    "must not contain line breaks or other control characters",
  );

/**
 * An address of at most 254 characters (RFC 5321, section 4.5.3.1) with one `@` and a domain of at least two labels.
 */
const address = headerText(z.string().max(254))
  .regex(
    /^[^\s@<>()[\]\\,;:"]+@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u,
    "must be an email address such as ada@example.test",
  )
  .meta({ format: "email" });

const subject = headerText(z.string().min(1, "must not be empty"))
  // Counts code points, as JSON Schema does (JSON Schema Validation, section 6.3.1).
  .refine((text) => Array.from(text).length <= 300, "must have at most 300 characters")
  .meta({ maxLength: 300 });

/**
 * Returns the schema of an array that is checked only up to its first invalid item. `z.array` would report every
 * invalid item, which takes seconds for 1 MiB.
 */
const arrayOf = (item: z.ZodType<string>) => {
  // The check below ensures that each item is a string.
  const unchecked: z.ZodType<string> = z.any();
  const { $schema: _dialect, ...items } = z.toJSONSchema(item);
  return z
    .array(unchecked)
    .check(({ value, issues }) => {
      for (const [index, element] of value.entries()) {
        const [issue] = item.safeParse(element).error?.issues ?? [];
        if (!issue) continue;
        const path = [index, ...issue.path];
        // The cast is needed, because Zod's type of an issue does not state that `input` can be any value.
        issues.push({ ...issue, input: element, path } as z.core.$ZodRawIssue);
        return;
      }
    })
    .meta({ items });
};

export const timestamp = z.iso.datetime().meta({ description: "ISO 8601, UTC." });

export const idempotencyKey = z.string().min(1).max(256).meta(assumed("A-14"));

export const emailRequest = z
  .object({
    from: address.meta({
      description: "Sender address, on a domain that has been added and verified.",
    }),
    to: arrayOf(address).min(1, "must have at least one address"),
    subject,
    html: z.string().min(1, "must not be empty").optional(),
    text: z.string().min(1, "must not be empty").optional(),
    message_class: z.literal("transactional").default("transactional"),
  })
  .refine((email) => email.html !== undefined || email.text !== undefined, {
    path: ["text"],
    message: "is required when html is omitted",
  })
  .meta({ id: "EmailRequest", anyOf: [{ required: ["html"] }, { required: ["text"] }] });

export const acceptedSend = z
  .object({
    email_id: z.string().meta({ pattern: "^msg_" }),
    message_id: z.string().meta({ pattern: "^msg_" }),
    send_id: z.string().meta({ pattern: "^send_" }),
    status: z.string().meta({ description: "`accepted` on creation.", ...assumed("A-01") }),
    subject: z.string(),
    from: z.string(),
    recipients: z.object({ to: z.array(z.string()) }),
    message_class: z.literal("transactional"),
    created_at: timestamp,
  })
  .meta({ id: "AcceptedSend" });

export const sendStatus = acceptedSend
  .partial()
  .required({ send_id: true, status: true })
  .extend({
    updated_at: timestamp.optional(),
    history: z
      .array(z.object({ status: z.string(), at: timestamp, note: z.string().optional() }))
      .optional(),
  })
  .meta({ id: "SendStatus", ...assumed("A-02") });

export const domainRequest = z
  .object({
    domain_name: z
      .string()
      .max(253)
      .regex(
        /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u,
        "must be a domain name such as mail.example.test",
      ),
  })
  .meta({ id: "DomainRequest" });

export const domain = z
  .object({
    domain_id: z.string().meta({ pattern: "^dom_" }),
    domain_name: z.string(),
    status: z.enum(["pending", "verified", "failed"]),
    created_at: timestamp,
    verified_at: timestamp.optional(),
  })
  .meta({ id: "Domain", ...assumed("A-05") });

export const eventType = z
  .object({ type: z.string(), description: z.string() })
  .meta({ id: "WebhookEventType", ...assumed("A-03") });

export const endpointRequest = z
  .object({
    url: z.string().meta({
      format: "uri",
      description:
        "Public HTTPS callback URL. The sandbox accepts loopback addresses by default (A-21).",
    }),
    event_types: arrayOf(z.string()).min(1, "must have at least one event type"),
  })
  .meta({ id: "WebhookEndpointRequest" });

export const endpoint = z
  .object({
    webhook_endpoint_id: z.string().meta({ pattern: "^we_" }),
    url: z.string(),
    status: z.enum(["active", "archived"]).meta(assumed("A-22", "`active` on creation.")),
    event_types: z.array(z.string()),
  })
  .meta({ id: "WebhookEndpoint" });

export const endpointWithSecret = z
  .object({
    webhook_endpoint: endpoint,
    secret: z
      .string()
      .meta({ pattern: "^whsec_", description: "The signing secret, returned once." }),
  })
  .meta({ id: "WebhookEndpointWithSecret" });

export const webhookEvent = z
  .object({
    event_id: z.string().meta({ pattern: "^evt_" }),
    source_event_id: z.string(),
    delivery_id: z.string(),
    subscription_id: z.string(),
    webhook_endpoint_id: z.string(),
    type: z.string(),
    status: z.enum(deliveryStates),
    attempts: z.int(),
    created_at: timestamp,
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: "WebhookEvent", ...assumed("A-08") });

/** Returns the schema of a list: a page, or only the items (A-15). */
export const listOf = (item: z.ZodType): z.ZodType =>
  z
    .union([
      z.object({ data: z.array(item), has_more: z.boolean(), next_cursor: z.string().nullable() }),
      z.array(item),
    ])
    .meta(assumed("A-15"));

/** The page size, as a number in a query string. */
export const pageLimit = z
  .string()
  .regex(/^(?:[1-9]\d?|100)$/, "must be a number from 1 to 100")
  .transform(Number)
  .pipe(z.int().min(1).max(100))
  .optional()
  .meta(assumed("A-15", "1 to 100, default 20."));

export const listQuery = z.object({
  webhook_endpoint_id: z
    .string()
    .optional()
    .meta({ description: "Only deliveries to this endpoint." }),
  limit: pageLimit,
  after: z
    .string()
    .regex(/^[0-9a-z]{1,10}$/, "must be the next_cursor of the previous page")
    .optional()
    .meta(assumed("A-15", "The `next_cursor` of the previous page.")),
});

export const redeliverQuery = z.object({
  webhook_endpoint_id: z
    .string()
    .optional()
    .meta(assumed("A-27", "Required if the event went to several endpoints with the same id.")),
});
