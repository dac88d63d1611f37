import type { EventPayloadMap } from "@octokit/webhooks-types";
import { typedUnion, type SchemasOf } from "@svc-webhooks/core";

/** Adds the routed type to a payload: the event's name, and its action if it has one. */
type Routed<Name extends string, Payload> = Payload extends {
  readonly action: infer Action extends string;
}
  ? Payload & { readonly type: `${Name}.${Action}` }
  : Payload & { readonly type: Name };

/** The events of GitHub with the types that `github()` routes, such as `issues.opened`. */
export type GithubEvent = {
  [Name in keyof EventPayloadMap]: Routed<Name, EventPayloadMap[Name]>;
}[keyof EventPayloadMap];

/** The events of GitHub by their routed types. */
export type GithubEvents = { readonly [Event in GithubEvent as Event["type"]]: Event };

/**
 * Types the handlers with GitHub's events, and validates nothing. It needs the package `@octokit/webhooks-types`, of
 * which it uses only types.
 *
 * @example
 * ```ts
 * import { createReceiver } from "@svc-webhooks/core";
 * import { github } from "@svc-webhooks/schemes";
 * import { githubEvents } from "@svc-webhooks/schemes/github-events";
 *
 * export const receiver = createReceiver({
 *   scheme: github(),
 *   secret: process.env.GITHUB_WEBHOOK_SECRET ?? "",
 *   events: githubEvents,
 *   on: { "issues.opened": ({ issue }) => console.log(issue.title) },
 * });
 * ```
 */
export const githubEvents: SchemasOf<GithubEvent> = /* @__PURE__ */ typedUnion<GithubEvent>();
