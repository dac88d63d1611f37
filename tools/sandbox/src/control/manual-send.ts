import type { z } from "zod";
import { conflict, invalid } from "../errors.js";
import { parseJson } from "../http/read-body.js";
import { validate } from "../http/validate.js";
import { deliveryShape } from "../read/shapes.js";
import { sendFields } from "../service/resources.js";
import { emailRequest } from "../service/schemas.js";
import { acceptSend } from "../service/sends.js";
import type { Service } from "../service/service.js";
import type { AccountId, CallRecord, DeliveryRecord } from "../state/records.js";
import type { sendRequest, testEmailRequest } from "./requests.js";

/**
 * Starts extra attempts of a delivery. An edited body is sent as a new delivery.
 * @throws ApiError 409 if the endpoint is archived, or lacks the previous secret that `tamper` needs
 * @throws ApiError 400 if `tamper` is `reserialized` and the body is not JSON
 */
export function sendManually(
  service: Service,
  delivery: DeliveryRecord,
  { times, concurrent, tamper, body }: z.output<typeof sendRequest>,
) {
  const endpoint = service.state.endpoints.get(delivery.endpointId);
  if (endpoint?.status !== "active")
    throw conflict("The endpoint is archived, so nothing is delivered to it.");
  if (tamper === "previous_secret" && endpoint.previous === undefined)
    throw conflict("The endpoint has no previous secret. Rotate the secret first.");
  if (tamper === "reserialized" && !isJson(body ?? delivery.body))
    throw invalid(
      "tamper",
      "The body is not JSON, so it cannot be re-serialized. Pass a JSON body or choose another value for `tamper`.",
    );
  const sent = body === undefined ? delivery : edited(service, delivery, body);
  service.engine.sendManually(sent, { times, concurrent, tamper });
  return { attempts: times, delivery: deliveryShape(service, sent) };
}

function isJson(bytes: Uint8Array): boolean {
  try {
    parseJson(bytes);
    return true;
  } catch {
    return false;
  }
}

function edited(
  { state, ids, clock }: Service,
  delivery: DeliveryRecord,
  body: Uint8Array,
): DeliveryRecord {
  const id = ids.next("dlv");
  const copy = state.deliveries.put({
    ...delivery,
    id,
    seq: state.nextSeq(),
    eventId: ids.next("evt"),
    deliveryId: id,
    createdAt: clock.now(),
    // The state is `failed` until an attempt succeeds. It is not `pending`, because a restart would then schedule an
    // attempt.
    state: "failed",
    trigger: "manual",
    nextAttemptAt: undefined,
    resumeAt: undefined,
    heldBy: undefined,
    pinnedSecret: undefined,
    retries: 0,
    attempt: 0,
    edited: true,
    body,
    attempts: [],
  });
  const event = state.events.get(delivery.sourceEventId);
  if (event) {
    event.deliveries.push(id);
    state.events.put(event);
  }
  return copy;
}

/**
 * Accepts a test email as `POST /v1/emails` does, but without an idempotency key and without checking the sender's
 * domain.
 */
export function sendTestEmail(
  service: Service,
  account: AccountId,
  call: CallRecord,
  { to = "ada@example.test", subject = "Test email", scenario }: z.output<typeof testEmailRequest>,
) {
  const text = "This email was sent from the sandbox.";
  const email = validate(emailRequest, {
    from: "test@sandbox.test",
    to: typeof to === "string" ? [to] : to,
    subject,
    text,
    html: `<p>${text}</p>`,
  });
  return sendFields(acceptSend(service, account, call, email, scenario), "accepted");
}
