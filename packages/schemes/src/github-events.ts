import type { EventPayloadMap } from "@octokit/webhooks-types";
import { eventTypes, type SchemasOf } from "@svc-webhooks/core";

export type { SchemasOf } from "@svc-webhooks/core";

/** Adds to a payload the type that `github()` gives its event: the event's name, and its action if it has one. */
type Routed<Name extends string, Payload> = Payload extends {
  readonly action: infer Action extends string;
}
  ? Payload & { readonly type: `${Name}.${Action}` }
  : Payload & { readonly type: Name };

/** GitHub's events, with the types that `github()` gives them, such as `issues.opened`. */
export type GithubEvent = {
  [Name in keyof EventPayloadMap]: Routed<Name, EventPayloadMap[Name]>;
}[keyof EventPayloadMap];

/** GitHub's events by the types that `github()` gives them. */
export type GithubEvents = { readonly [Event in GithubEvent as Event["type"]]: Event };

/**
 * Types the events of handlers as GitHub's, without validating them. Requires the package `@octokit/webhooks-types`,
 * but only for its types.
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { github } from "svc-webhooks/schemes";
 * import { githubEvents } from "svc-webhooks/schemes/github-events";
 *
 * export const receiver = createReceiver({
 *   scheme: github(),
 *   secret: process.env.GITHUB_WEBHOOK_SECRET ?? "",
 *   events: githubEvents,
 *   on: { "issues.opened": ({ issue }) => console.log(issue.title) },
 * });
 * ```
 */
export const githubEvents: SchemasOf<GithubEvent> = /* @__PURE__ */ eventTypes<GithubEvent>();
