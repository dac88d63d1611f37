import { checkDomain, checkEmail, checkEndpoint, pathId } from "./http/checks.js";
import { checkRequest, type Call } from "./http/prepare.js";
import { send, type Sent } from "./http/send.js";
import {
  check,
  resolveOptions,
  type ClientOptions,
  type Connection,
  type KeyedRequestOptions,
  type RedeliverOptions,
  type RequestOptions,
  type RotateOptions,
} from "./options.js";
import { list, type List } from "./pages.js";
import type {
  BulkRedelivery,
  BulkRedeliveryOptions,
  EmailResult,
  KeyedEmail,
  SendAllOptions,
  SentEmail,
  WaitOptions,
} from "./recipes.js";
import { redeliverFailed } from "./recipes/redeliver-failed.js";
import { sendAll } from "./recipes/send-all.js";
import { waitForSend } from "./recipes/wait-for-send.js";
import type {
  AcceptedSend,
  Domain,
  DomainRequest,
  EmailRequest,
  SendStatus,
  WebhookEndpoint,
  WebhookEndpointRequest,
  WebhookEndpointWithSecret,
  WebhookEvent,
  WebhookEventQuery,
  WebhookEventType,
} from "./resources.js";
import { responsePromise, type ResponsePromise } from "./response-promise.js";

/** The query and body of a request that no operation of the client covers. */
export type CustomCall = Pick<Call, "query" | "body">;

/**
 * The service's REST interface. Requests and results use the interface's own names. An operation that fails rejects
 * with an SvcError: before any request, a ClientConfigError if an option is invalid, or an InvalidRequestError if the
 * request is invalid; otherwise an error that depends on the response status or on how the connection failed.
 */
export interface Client {
  readonly emails: {
    /**
     * Submits an email. All attempts use the same idempotency key, so the email is sent only once. The result contains
     * the key, and so does the error of a request that was attempted.
     */
    readonly send: (
      email: EmailRequest,
      options?: KeyedRequestOptions,
    ) => ResponsePromise<SentEmail>;
    /**
     * Sends a list of emails, several at a time. Resolves with one result per email, in order. A failed email does not
     * reject the promise.
     */
    readonly sendAll: (
      emails: readonly KeyedEmail[],
      options?: SendAllOptions,
    ) => Promise<readonly EmailResult[]>;
  };
  readonly sends: {
    /** Returns the status of a send. */
    readonly get: (send_id: string, options?: RequestOptions) => ResponsePromise<SendStatus>;
    /**
     * Polls the status until it matches `until`, by default until it is final. Rejects with `not_reached` if the send
     * has another final status and `until` is not a function.
     */
    readonly waitFor: (send_id: string, options?: WaitOptions) => Promise<SendStatus>;
  };
  readonly domains: {
    /** Registers a sending domain. */
    readonly create: (domain: DomainRequest, options?: RequestOptions) => ResponsePromise<Domain>;
    /** Requests the verification of a domain. Resolves with undefined if the response has no body. */
    readonly verify: (
      domain_id: string,
      options?: RequestOptions,
    ) => ResponsePromise<Domain | undefined>;
  };
  readonly webhookEventTypes: {
    /** Lists the types that endpoints can subscribe to. */
    readonly list: (options?: RequestOptions) => List<WebhookEventType>;
  };
  readonly webhookEndpoints: {
    /** Registers an endpoint. Its `secret` is returned only here: store `secret.reveal()`. */
    readonly create: (
      endpoint: WebhookEndpointRequest,
      options?: RequestOptions,
    ) => ResponsePromise<WebhookEndpointWithSecret>;
    /**
     * Replaces the secret. The new one is returned only here. `rotatingSecrets` keeps the old and the new secret for a
     * receiver.
     */
    readonly rotateSecret: (
      webhook_endpoint_id: string,
      options?: RotateOptions,
    ) => ResponsePromise<WebhookEndpointWithSecret>;
    /**
     * Archives the endpoint, which ends all deliveries to it. Resolves with undefined if the response has no body
     * (assumption A-22).
     */
    readonly archive: (
      webhook_endpoint_id: string,
      options?: RequestOptions,
    ) => ResponsePromise<WebhookEndpoint | undefined>;
  };
  readonly webhookEvents: {
    /** Lists deliveries, newest first. */
    readonly list: (query?: WebhookEventQuery, options?: RequestOptions) => List<WebhookEvent>;
    /** Requests another attempt of a failed delivery. Resolves with undefined if the response has no body. */
    readonly redeliver: (
      event_id: string,
      options?: RedeliverOptions,
    ) => ResponsePromise<WebhookEvent | undefined>;
    /** Redelivers every failed delivery of an endpoint, or at most `max` of them, page by page. */
    readonly redeliverFailed: (options: BulkRedeliveryOptions) => Promise<BulkRedelivery>;
  };
  /**
   * Makes any other request to the same service: `client.request("GET", "/v1/sends/send_1")`. With an `idempotencyKey`,
   * even a POST is retried after a lost response. The client generates no key for such requests. Any member of the
   * third argument besides `query` and `body` causes a ClientConfigError `invalid_option`.
   */
  readonly request: <Result>(
    method: Call["method"],
    path: `/${string}`,
    call?: CustomCall,
    options?: KeyedRequestOptions,
  ) => ResponsePromise<Result>;
}

/**
 * Creates a client, without making a request. The client logs nothing.
 *
 * @throws ClientConfigError `invalid_option`
 *
 * @example
 * ```ts
 * import { createClient } from "@svc-webhooks/client";
 *
 * const client = createClient({ apiKey: "svc_test", baseUrl: "http://127.0.0.1:4010" });
 *
 * export const welcome = (address: string) =>
 *   client.emails.send({
 *     from: "ada@mail.example.com",
 *     to: [address],
 *     subject: "Welcome",
 *     text: "Thank you for joining.",
 *   });
 * ```
 */
export function createClient(clientOptions: ClientOptions = {}): Client {
  const connection = resolveOptions(clientOptions);

  const request = requester(connection);
  const post = <Result>(path: () => string, options?: RequestOptions, query?: Call["query"]) =>
    request<Result>(() => ({ method: "POST", path: path(), query, mayBeEmpty: true }), options);
  const pages = <Item>(path: string, query?: WebhookEventQuery, options?: RequestOptions) =>
    list<Item>(
      (after) => request(() => ({ method: "GET", path, query: { ...query, after } }), options),
      query?.after,
    );
  const client: Client = {
    emails: {
      send: (email, options) =>
        request(
          () => {
            checkEmail({ ...email });
            return {
              method: "POST",
              path: "/v1/emails",
              body: email,
              key: "always",
              result: "send_id",
            };
          },
          options,
          ({ value, idempotencyKey = "" }) => ({ ...(value as AcceptedSend), idempotencyKey }),
        ),
      sendAll: (emails, options) => sendAll(client.emails.send, emails, options),
    },
    sends: {
      get: (id, options) =>
        request(() => ({ method: "GET", path: `/v1/sends/${pathId("send_id", id)}` }), options),
      waitFor: (id, options) => waitForSend(client.sends.get, connection.clock, id, options),
    },
    domains: {
      create: (domain, options) =>
        request(() => {
          checkDomain({ ...domain });
          return { method: "POST", path: "/v1/domains", body: domain };
        }, options),
      verify: (id, options) => post(() => `/v1/domains/${pathId("domain_id", id)}:verify`, options),
    },
    webhookEventTypes: {
      list: (options) => pages("/v1/webhook-event-types", undefined, options),
    },
    webhookEndpoints: {
      create: (endpoint, options) =>
        request(() => {
          checkEndpoint({ ...endpoint });
          return {
            method: "POST",
            path: "/v1/webhook-endpoints",
            body: endpoint,
            result: "secret",
          };
        }, options),
      rotateSecret: (id, { repeat, ...options } = {}) =>
        request(
          () => ({
            method: "POST",
            path: `${endpointPath(id)}:rotate-secret`,
            mayRepeat: repeat,
            result: "secret",
          }),
          options,
        ),
      archive: (id, options) =>
        request(() => ({ method: "DELETE", path: endpointPath(id), mayBeEmpty: true }), options),
    },
    webhookEvents: {
      list: (query, options) => pages("/v1/webhook-events", query, options),
      redeliver: (id, { webhook_endpoint_id, ...options } = {}) =>
        post(() => `/v1/webhook-events/${pathId("event_id", id)}:redeliver`, options, {
          webhook_endpoint_id,
        }),
      redeliverFailed: (options) => redeliverFailed(client.webhookEvents, options),
    },
    request: (method, path, call, options) =>
      request(() => {
        checkRequest(
          /^(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))[^/?#\\\s]*)+$/i.test(path),
          "`path` must be a path such as /v1/sends. Pass a query as `query`.",
        );
        for (const name of Object.keys({ ...call }))
          check(
            ["query", "body"].includes(name),
            `\`${name}\` is neither \`query\` nor \`body\`. Pass options last.`,
          );
        return { ...call, method, path, key: "optional", mayBeEmpty: true };
      }, options),
  };
  return client;
}

const endpointPath = (id: string) => `/v1/webhook-endpoints/${pathId("webhook_endpoint_id", id)}`;

/** Calls `make` inside an async function, so that its errors become rejections too. */
const requester =
  (connection: Connection) =>
  <Result>(
    make: () => Call,
    options: KeyedRequestOptions = {},
    resultOf = ({ value }: Sent) => value as Result,
  ): ResponsePromise<Result> => {
    const sending = async () => send(connection, make(), options);
    return responsePromise(sending(), resultOf);
  };
