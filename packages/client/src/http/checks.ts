import type { DomainRequest, EmailRequest, WebhookEndpointRequest } from "../resources.js";
import { checkRequest } from "./prepare.js";

/* The documented limits, checked before a request is made. JavaScript callers may pass anything. */

export const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "";

const areTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.length > 0 && values.every(isText);

/**
 * Checks an email.
 *
 * @throws InvalidRequestError
 */
export function checkEmail({ from, to, subject, html, text }: EmailRequest): void {
  checkRequest(isText(from), "`from` must be an address.");
  checkRequest(areTexts(to), "`to` must be an array with at least one address.");
  checkRequest(isText(subject), "`subject` must be a non-empty string.");
  // The `u` flag makes a character count once even if it has two UTF-16 code units.
  checkRequest(!/^.{301}/su.test(subject), "`subject` must have at most 300 characters.");
  checkRequest(isText(html) || isText(text), "An email needs `text`, `html` or both.");
}

/**
 * Checks a domain.
 *
 * @throws InvalidRequestError
 */
export function checkDomain({ domain_name: name }: DomainRequest): void {
  checkRequest(isText(name), "`domain_name` must be a domain name.");
}

/**
 * Checks an endpoint.
 *
 * @throws InvalidRequestError
 */
export function checkEndpoint({ url, event_types: types }: WebhookEndpointRequest): void {
  checkRequest(isText(url), "`url` must be a URL.");
  checkRequest(areTexts(types), "`event_types` must be an array with at least one event type.");
}

/**
 * Encodes an id as a path segment.
 *
 * @throws InvalidRequestError if the id is not text, is empty, is `.` or `..`, or contains a lone surrogate
 */
export function pathId(param: string, id: string): string {
  checkRequest(isText(id) && !/^\.{1,2}$|\p{Cs}/u.test(id), `\`${param}\` must be an id.`);
  return encodeURIComponent(id);
}
