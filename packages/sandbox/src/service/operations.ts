import { z } from "zod";
import { domainToASCII } from "node:url";
import { eventTypes } from "../delivery/event-types.js";
import { raise } from "../delivery/raise.js";
import { conflict, invalid, notFound } from "../errors.js";
import type { AccountId, DeliveryRecord, DomainRecord, EndpointRecord } from "../state/records.js";
import { operation, type Operation } from "./operation.js";
import { defaultLimit, page, wholeList } from "./pages.js";
import {
  domainFields,
  domainResource,
  endpointResource,
  sendFields,
  sendStatusResource,
  webhookEventResource,
} from "./resources.js";
import {
  acceptedSend,
  domain,
  domainRequest,
  emailRequest,
  endpoint,
  endpointRequest,
  endpointWithSecret,
  eventType,
  listOf,
  listQuery,
  redeliverQuery,
  sendStatus,
  webhookEvent,
} from "./schemas.js";
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
    request: emailRequest,
    response: acceptedSend,
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
    response: sendStatus,
    assumptions: ["A-01", "A-02", "A-12"],
    run({ state, ledger }, { account, params }) {
      const send = owned(state.sends.get(params["send_id"] ?? ""), account, "send_id");
      return { body: sendStatusResource(send, ledger) };
    },
  }),
  operation({
    id: "createDomain",
    method: "POST",
    path: "/v1/domains",
    summary: "Add a sending domain",
    status: 201,
    request: domainRequest,
    response: domain,
    assumptions: ["A-05"],
    run({ state, ids, clock }, { account, body }) {
      const name = domainToASCII(body.domain_name.toLowerCase());
      if (name === "")
        throw invalid(
          "domain_name",
          "domain_name must be a domain name such as mail.example.test.",
        );
      const existing = domainByName(state.domains.all(), account, name);
      if (existing) return { status: 200, body: domainResource(existing) };
      const created = state.domains.put({
        id: ids.next("dom"),
        account,
        name,
        createdAt: clock.now(),
        status: "pending",
      });
      return { body: domainResource(created) };
    },
  }),
  operation({
    id: "verifyDomain",
    method: "POST",
    path: "/v1/domains/{domain_id}:verify",
    summary: "Verify a domain",
    status: 200,
    response: domain,
    assumptions: ["A-04", "A-05", "A-12"],
    run(service, { account, params, call }) {
      const found = owned(
        service.state.domains.get(params["domain_id"] ?? ""),
        account,
        "domain_id",
      );
      const rule = service.ledger.get("domain.states");
      const fails = rule === "by-name" ? /(?:^|\.)fail\.test$/.test(found.name) : rule === "failed";
      return {
        body: domainResource(verifyDomain(service, found, fails ? "failed" : "verified", call.id)),
      };
    },
  }),
  operation({
    id: "listWebhookEventTypes",
    method: "GET",
    path: "/v1/webhook-event-types",
    summary: "List the event types that can be subscribed to",
    status: 200,
    response: listOf(eventType),
    assumptions: ["A-03", "A-15"],
    run: ({ ledger }) => ({ body: wholeList(eventTypes(ledger), ledger.get("pagination")) }),
  }),
  operation({
    id: "createWebhookEndpoint",
    method: "POST",
    path: "/v1/webhook-endpoints",
    summary: "Register a webhook endpoint",
    status: 201,
    request: endpointRequest,
    response: endpointWithSecret,
    assumptions: ["A-03", "A-21", "A-26"],
    async run(service, { account, body }) {
      const { state, ids, clock, ledger } = service;
      const known = eventTypes(ledger).map(({ type }) => type);
      const unknown = body.event_types.find((type) => !known.includes(type));
      if (unknown !== undefined) {
        throw invalid(
          "event_types",
          `There is no such event type. The types are: ${known.join(", ")}.`,
        );
      }
      const refused = await service.refuseUrl(body.url);
      if (refused !== undefined) throw invalid("url", refused);
      const types = [...new Set(body.event_types)];
      const subscriptions = ["*", ...types].map((type) => [type, ids.next("sub")]);
      const created = state.endpoints.put({
        id: ids.next("we"),
        account,
        url: body.url,
        eventTypes: types,
        createdAt: clock.now(),
        subscriptions: Object.fromEntries(subscriptions),
        status: "active",
        secret: ids.secret(),
      });
      return { body: { webhook_endpoint: endpointResource(created), secret: created.secret } };
    },
  }),
  operation({
    id: "listWebhookEvents",
    method: "GET",
    path: "/v1/webhook-events",
    summary: "List deliveries",
    status: 200,
    query: listQuery,
    response: listOf(webhookEvent),
    assumptions: ["A-08", "A-12", "A-15"],
    run({ state, ledger }, { account, query }) {
      const id = query.webhook_endpoint_id;
      if (id !== undefined) owned(state.endpoints.get(id), account, "webhook_endpoint_id");
      const before = query.after === undefined ? Infinity : Number.parseInt(query.after, 36);
      const found = Array.from(state.deliveries.all())
        .filter(
          (delivery) =>
            delivery.account === account &&
            delivery.seq < before &&
            (id === undefined || delivery.endpointId === id),
        )
        .toReversed();
      if (ledger.get("pagination") === "array") return { body: found.map(webhookEventResource) };
      return { body: page(found, query.limit ?? defaultLimit, cursorOf, webhookEventResource) };
    },
  }),
  operation({
    id: "redeliverWebhookEvent",
    method: "POST",
    path: "/v1/webhook-events/{event_id}:redeliver",
    summary: "Retry a failed delivery",
    status: 202,
    query: redeliverQuery,
    response: webhookEvent,
    assumptions: ["A-12", "A-17", "A-18", "A-27"],
    run({ state, engine }, { account, params, query }) {
      const named = Array.from(state.deliveries.all()).filter(
        (delivery) => delivery.eventId === params["event_id"] && delivery.account === account,
      );
      const id = query.webhook_endpoint_id;
      const [delivery, ...more] = named.filter(
        ({ endpointId }) => id === undefined || endpointId === id,
      );
      if (!delivery) {
        throw notFound(
          named.length > 0 ? "webhook_endpoint_id" : "event_id",
          "There is no such webhook event.",
        );
      }
      if (more.length > 0) {
        throw invalid(
          "webhook_endpoint_id",
          "This event went to several endpoints (A-27): add ?webhook_endpoint_id= to choose one.",
        );
      }
      engine.redeliver(delivery);
      return { body: webhookEventResource(delivery) };
    },
  }),
  operation({
    id: "rotateWebhookEndpointSecret",
    method: "POST",
    path: "/v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret",
    summary: "Rotate the signing secret of an endpoint",
    status: 200,
    response: endpointWithSecret,
    assumptions: ["A-12", "A-19"],
    run(service, { account, params }) {
      const found = owned(
        service.state.endpoints.get(params["webhook_endpoint_id"] ?? ""),
        account,
        "webhook_endpoint_id",
      );
      rotateSecret(service, found);
      return { body: { webhook_endpoint: endpointResource(found), secret: found.secret } };
    },
  }),
  operation({
    id: "archiveWebhookEndpoint",
    method: "DELETE",
    path: "/v1/webhook-endpoints/{webhook_endpoint_id}",
    summary: "Archive an endpoint",
    status: 200,
    response: z.union([endpoint, z.undefined()]).meta({ "x-assumption": "A-22" }),
    assumptions: ["A-12", "A-22"],
    run({ state, engine, ledger }, { account, params }) {
      const found = owned(
        state.endpoints.get(params["webhook_endpoint_id"] ?? ""),
        account,
        "webhook_endpoint_id",
      );
      found.status = "archived";
      state.endpoints.put(found);
      engine.cancel(found);
      const status = ledger.get("delete");
      return { status, body: status === 204 ? undefined : endpointResource(found) };
    },
  }),
];

const cursorOf = ({ seq }: DeliveryRecord) => seq.toString(36);

/** The record of an id, if it belongs to the account. @throws ApiError 404 */
function owned<Item extends { readonly account: AccountId }>(
  item: Item | undefined,
  account: AccountId,
  param: string,
): Item {
  if (item?.account !== account) throw notFound(param, `There is no such ${param}.`);
  return item;
}

function domainByName(
  domains: Iterable<DomainRecord>,
  account: AccountId,
  name: string,
): DomainRecord | undefined {
  for (const candidate of domains) {
    if (candidate.account === account && candidate.name === name) return candidate;
  }
  return undefined;
}

/** what becomes of a send from a domain that is not verified. */
function checkSender(
  { state, ledger, log }: Service,
  account: AccountId,
  from: string,
  call: { id: string; notes?: readonly string[] },
): void {
  const rule = ledger.get("domain.unverifiedFrom");
  const name = domainToASCII(from.slice(from.lastIndexOf("@") + 1).toLowerCase());
  if (rule === "allow" || domainByName(state.domains.all(), account, name)?.status === "verified")
    return;
  if (rule === "reject") {
    throw invalid("from", "The domain of from must be added and verified first (A-06).");
  }
  call.notes = [
    "The domain of from is not verified. In production, add and verify it first (A-06).",
  ];
  if (!isFirst(warned, log, name)) return;
  log(
    `${call.id}: accepted although ${name} is not verified (A-06). Later emails from it are not reported.`,
  );
}

/** The names of unverified domains that each log has reported; sandboxes in one process may share it. */
const warned = new WeakMap<Service["log"], Set<string>>();

/** Names that are remembered, so that invented ones cost no more memory. */
const mostWarned = 1_000;

function isFirst(known: typeof warned, log: Service["log"], name: string): boolean {
  const names = known.get(log) ?? new Set();
  known.set(log, names);
  if (names.has(name) || names.size >= mostWarned) return false;
  names.add(name);
  return true;
}

/** Ends a verification, and raises its event. */
export function verifyDomain(
  service: Service,
  found: DomainRecord,
  outcome: "verified" | "failed",
  callId: string,
): DomainRecord {
  found.status = outcome;
  if (outcome === "verified") found.verifiedAt = service.clock.now();
  else delete found.verifiedAt;
  service.state.domains.put(found);
  const deliveries = raise(service, {
    account: found.account,
    callId,
    occasion: `domain.${outcome}`,
    data: domainFields(found),
  });
  for (const delivery of deliveries) service.engine.start(delivery);
  return found;
}

/** Gives an endpoint a new secret. @throws ApiError 409 if it is archived */
export function rotateSecret({ state, ids, clock, ledger }: Service, found: EndpointRecord): void {
  if (found.status !== "active") {
    throw conflict("The endpoint is archived, so its secret cannot be rotated.");
  }
  const rule = ledger.get("rotation");
  const until = clock.now() + (rule.mode === "deferred" ? rule.forMs : 0);
  found.previous = { secret: found.secret, until };
  found.secret = ids.secret();
  state.endpoints.put(found);
}
