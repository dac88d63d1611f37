import type { Row } from "./sender.js";

/** Splits a type into the name of the event and its action, which some senders send separately. */
export function parted(type: string): {
  readonly name: string;
  readonly action: string | undefined;
} {
  const [name = type, action] = type.split(".", 2);
  return { name, action };
}

export const isoTime = (at: number): string => new Date(at).toISOString();

/** Returns the members that all senders of Standard Webhooks share. */
export const likeStandardWebhooks = (
  prefix: "webhook" | "svix",
  version: "v1" | "v1a",
): Pick<Row, "form" | "isTimed" | "signsId" | "type" | "complete"> => ({
  form: {
    prefix: `${version},`,
    encoding: "base64",
    separator: " ",
    idHeaders: [`${prefix}-id`],
  },
  isTimed: true,
  signsId: true,
  type: "contact.created",
  complete: (event, { type, at }) => ({ type, timestamp: isoTime(at), data: {}, ...event }),
});
