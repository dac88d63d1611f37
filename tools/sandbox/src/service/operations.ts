import { z } from "zod";
import { eventTypes } from "../delivery/event-types.js";
import { notFound } from "../errors.js";
import type { AccountId } from "../state/records.js";
import type { Table } from "../state/table.js";
import { cursorOf, findByEvent, listDeliveries } from "./deliveries.js";
import { addDomain, checkSender, verifyDomain } from "./domains.js";
import { archiveEndpoint, checkEndpoint, registerEndpoint, rotateSecret } from "./endpoints.js";
import { operation, type Operation, type OperationInput } from "./operation.js";
import { defaultLimit, page, wholeList } from "./pages.js";
import {
  domainResource,
  endpointResource,
  secretResource,
  sendFields,
  sendStatusResource,
  webhookEventResource,
} from "./resources.js";
import * as schemas from "./schemas.js";
import { acceptSend } from "./sends.js";
import type { Service } from "./service.js";

/** The ten operations of the interface document, in its order. */
export const operations: readonly Operation[] = [
  operation({
    id: "sendEmail",
    method: "POST",
    path: "/v1/emails",
    summary: "Send an email",
    status: 202,
    request: schemas.emailRequest,
    response: schemas.acceptedSend,
    idempotent: true,
    assumptions: ["A-01", "A-04", "A-06", "A-13", "A-14"],
    run(service, { account, body, call }) {
      checkSender(service, account, body.from, call);
      return { body: sendFields(acceptSend(service, account, call, body), "accepted") };
    },
  }),
  operation({
    id: "getSend",
    method: "GET",
    path: "/v1/sends/{send_id}",
    summary: "Get the status of a send",
    status: 200,
    response: schemas.sendStatus,
    assumptions: ["A-01", "A-02", "A-12"],
    run({ state, ledger }, { account, params }) {
      const send = owned(state.sends, account, "send_id", params["send_id"]);
      return { body: sendStatusResource(send, ledger) };
    },
  }),
  operation({
    id: "createDomain",
    method: "POST",
    path: "/v1/domains",
    summary: "Add a sending domain",
    status: 201,
    request: schemas.domainRequest,
    response: schemas.domain,
    assumptions: ["A-05"],
    run(service, { account, body }) {
      const { domain, isNew } = addDomain(service, account, body.domain_name);
      return { status: isNew ? 201 : 200, body: domainResource(domain) };
    },
  }),
  operation({
    id: "verifyDomain",
    method: "POST",
    path: "/v1/domains/{domain_id}:verify",
    summary: "Verify a domain",
    status: 200,
    response: schemas.domain,
    assumptions: ["A-04", "A-05", "A-12"],
    run(service, { account, params, call }) {
      const domain = owned(service.state.domains, account, "domain_id", params["domain_id"]);
      return { body: domainResource(verifyDomain(service, domain, call.id)) };
    },
  }),
  operation({
    id: "listWebhookEventTypes",
    method: "GET",
    path: "/v1/webhook-event-types",
    summary: "List the event types to which endpoints can subscribe",
    status: 200,
    response: schemas.listOf(schemas.eventType),
    assumptions: ["A-03", "A-15"],
    run: ({ ledger }) => ({ body: wholeList(eventTypes(ledger), ledger.get("pagination")) }),
  }),
  operation({
    id: "createWebhookEndpoint",
    method: "POST",
    path: "/v1/webhook-endpoints",
    summary: "Register a webhook endpoint",
    status: 201,
    request: schemas.endpointRequest,
    response: schemas.endpointWithSecret,
    assumptions: ["A-03", "A-21", "A-26"],
    check: (service, { body }) => checkEndpoint(service, body),
    run(service, { account, body }) {
      return { body: secretResource(registerEndpoint(service, account, body)) };
    },
  }),
  operation({
    id: "listWebhookEvents",
    method: "GET",
    path: "/v1/webhook-events",
    summary: "List deliveries",
    status: 200,
    query: schemas.listQuery,
    response: schemas.listOf(schemas.webhookEvent),
    assumptions: ["A-08", "A-12", "A-15"],
    run(service, { account, query }) {
      const { webhook_endpoint_id: endpointId, after, limit } = query;
      if (endpointId !== undefined)
        owned(service.state.endpoints, account, "webhook_endpoint_id", endpointId);
      const deliveries = listDeliveries(service, account, { endpointId, after });
      if (service.ledger.get("pagination") === "array")
        return { body: deliveries.map(webhookEventResource) };
      return { body: page(deliveries, limit ?? defaultLimit, cursorOf, webhookEventResource) };
    },
  }),
  operation({
    id: "redeliverWebhookEvent",
    method: "POST",
    path: "/v1/webhook-events/{event_id}:redeliver",
    summary: "Retry a failed delivery",
    status: 202,
    query: schemas.redeliverQuery,
    response: schemas.webhookEvent,
    assumptions: ["A-12", "A-17", "A-18", "A-27"],
    run(service, { account, params, query }) {
      const endpointId = query.webhook_endpoint_id;
      const delivery = findByEvent(service, account, params["event_id"], endpointId);
      service.engine.redeliver(delivery);
      return { body: webhookEventResource(delivery) };
    },
  }),
  operation({
    id: "rotateWebhookEndpointSecret",
    method: "POST",
    path: "/v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret",
    summary: "Rotate the signing secret of an endpoint",
    status: 200,
    response: schemas.endpointWithSecret,
    assumptions: ["A-12", "A-19"],
    run(service, input) {
      const endpoint = endpointOf(service, input);
      rotateSecret(service, endpoint);
      return { body: secretResource(endpoint) };
    },
  }),
  operation({
    id: "archiveWebhookEndpoint",
    method: "DELETE",
    path: "/v1/webhook-endpoints/{webhook_endpoint_id}",
    summary: "Archive an endpoint",
    status: 200,
    response: z.union([schemas.endpoint, z.undefined()]).meta({ "x-assumption": "A-22" }),
    assumptions: ["A-12", "A-22"],
    run(service, input) {
      const endpoint = endpointOf(service, input);
      archiveEndpoint(service, endpoint);
      const status = service.ledger.get("delete");
      return { status, body: status === 204 ? undefined : endpointResource(endpoint) };
    },
  }),
];

/** Returns the name by which faults and assumptions refer to an operation: `POST /v1/emails`. */
export const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;

export const operationNames: readonly string[] = operations.map(nameOf);

const endpointOf = ({ state }: Service, { account, params }: OperationInput) =>
  owned(state.endpoints, account, "webhook_endpoint_id", params["webhook_endpoint_id"]);

/** Finds a record by its id, if it belongs to the account. @throws ApiError 404 that names `param` */
function owned<Item extends { readonly account: AccountId }>(
  table: Pick<Table<Item>, "get">,
  account: AccountId,
  param: string,
  id: string | undefined,
): Item {
  const item = table.get(id ?? "");
  if (item?.account !== account) throw notFound(param, `There is no such ${param}.`);
  return item;
}
