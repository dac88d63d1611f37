import { z } from "zod/v4";
import { maybe, maybeText } from "./lenient.js";

/**
 * The fields of an email, all optional. They are an assumption: the interface document shows no payload, so the names
 * are those of its accepted-send resource.
 */
export interface EmailData {
  readonly email_id?: string | undefined;
  readonly message_id?: string | undefined;
  readonly send_id?: string | undefined;
  readonly status?: string | undefined;
  readonly subject?: string | undefined;
  readonly from?: string | undefined;
  readonly recipients?: { readonly to?: string[] | undefined } | undefined;
  /** The creation time, in ISO 8601 format and UTC. */
  readonly created_at?: string | undefined;
}

interface EmailEvent<Type extends string> {
  readonly type: Type;
  readonly data?: EmailData | undefined;
}

/** Signals that the service has sent an email. */
export interface EmailSentEvent extends EmailEvent<"email.sent"> {}

/** Signals that an email has reached its recipient's server. */
export interface EmailDeliveredEvent extends EmailEvent<"email.delivered"> {}

const emailEvent = <Type extends string>(type: Type): z.ZodType<EmailEvent<Type>> =>
  z.looseObject({
    type: z.literal(type),
    data: maybe(
      z.looseObject({
        email_id: maybeText,
        message_id: maybeText,
        send_id: maybeText,
        status: maybeText,
        subject: maybeText,
        from: maybeText,
        recipients: maybe(z.looseObject({ to: maybe(z.array(z.string())) })),
        created_at: maybeText,
      }),
    ),
  });

/** Accepts every object whose `type` is `email.sent`. */
export const emailSent: z.ZodType<EmailSentEvent> = emailEvent("email.sent");

/** Accepts every object whose `type` is `email.delivered`. */
export const emailDelivered: z.ZodType<EmailDeliveredEvent> = emailEvent("email.delivered");
