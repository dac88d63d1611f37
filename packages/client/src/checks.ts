import { refused } from "./http/prepare.js";
import type { DomainRequest, EmailRequest, WebhookEndpointRequest } from "./resources.js";

/* The documented limits, checked before a request is made. JavaScript callers may pass anything. */

export const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

const areTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.length > 0 && values.every(isText);

/** @throws InvalidRequestError */
export function checkEmail({ from, to, subject, html, text }: EmailRequest): void {
  if (!isText(from)) throw refused("from", "`from` must be an address.");
  if (!areTexts(to)) throw refused("to", "`to` must be an array of at least one address.");
  if (!isText(subject)) throw refused("subject", "`subject` must be a text.");
  // Characters, of which some have two UTF-16 units.
  if (/^.{301}/su.test(subject))
    throw refused("subject", "`subject` must have at most 300 characters.");
  if (!isText(html) && !isText(text))
    throw refused("text", "An email needs `html`, `text` or both.");
}

/** @throws InvalidRequestError */
export function checkDomain({ domain_name: name }: DomainRequest): void {
  if (!isText(name))
    throw refused("domain_name", "`domain_name` must be a name such as mail.example.com.");
}

/** @throws InvalidRequestError */
export function checkEndpoint({ url, event_types: types }: WebhookEndpointRequest): void {
  if (!isText(url)) throw refused("url", "`url` must be a URL.");
  if (!areTexts(types))
    throw refused("event_types", "`event_types` must be an array of at least one event type.");
}

/**
 * The id as a part of a path.
 *
 * @throws InvalidRequestError for a value that would change the path
 */
export function pathId(param: string, id: string): string {
  if (typeof id !== "string" || /^\.{0,2}$|\p{Cs}/u.test(id))
    throw refused(param, `\`${param}\` must be an id, not \`${id}\`.`);
  return encodeURIComponent(id);
}
