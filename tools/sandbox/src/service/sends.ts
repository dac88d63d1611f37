import type { z } from "zod";
import type { Course, Occasion } from "../assumptions/table.js";
import type { AccountId, CallRecord, SendRecord, SendStatus } from "../state/records.js";
import { sendFields } from "./resources.js";
import type { emailRequest } from "./schemas.js";
import type { Service } from "./service.js";

/**
 * For each course of a send, the statuses that follow `accepted`, each with its delay from acceptance in milliseconds.
 */
const statusesOf: Readonly<Record<Course, readonly (readonly [SendStatus, number])[]>> = {
  delivered: [
    ["sent", 0],
    ["delivered", 0],
  ],
  bounced: [
    ["sent", 0],
    ["bounced", 0],
  ],
  failed: [["failed", 0]],
  delayed: [
    ["sent", 0],
    ["delayed", 0],
    ["delivered", 60_000],
  ],
};

/** Matches a recipient whose course overrides that of A-01, such as `bounced@example.test`. */
const magic = /^(bounced|failed|delayed)@(?:.+\.)?test$/i;

/**
 * Creates a send, starts its course, and relays its email.
 * @param scenario the course. Default: that of the first recipient that selects one, or else that of A-01
 */
export function acceptSend(
  service: Service,
  account: AccountId,
  call: CallRecord,
  email: z.output<typeof emailRequest>,
  scenario?: Course,
): SendRecord {
  const { state, ids, clock, ledger } = service;
  const asked = email.to.map((address) => magic.exec(address)?.[1]?.toLowerCase()).find(Boolean);
  const course =
    statusesOf[scenario ?? (asked as Course | undefined) ?? ledger.get("send.statuses")];
  const now = clock.now();
  const send = state.sends.put({
    id: ids.next("send"),
    account,
    callId: call.id,
    emailId: ids.next("msg"),
    messageId: ids.next("msg"),
    subject: email.subject,
    from: email.from,
    to: email.to,
    html: email.html,
    text: email.text,
    messageClass: "transactional",
    createdAt: now,
    status: "accepted",
    history: [{ status: "accepted", at: now }],
    next: course.map(([status, delay]) => ({ status, at: now + delay })),
  });
  call.sendId = send.id;
  continueSend(service, send);
  service.relay(send.id);
  return send;
}

/**
 * Schedules the next status of a send, if it has one. After a restart or a rewind, it is called again for unfinished
 * sends.
 */
export function continueSend(service: Service, send: SendRecord): void {
  const [step] = send.next;
  if (!step) return;
  service.clock.at(step.at, { kind: "send", id: send.id }, () => {
    // The status no longer applies if the send has been dropped or replaced meanwhile.
    if (service.state.sends.get(send.id) !== send || send.next[0] !== step) return;
    send.next = send.next.slice(1);
    send.status = step.status;
    send.history.push({ status: step.status, at: service.clock.now() });
    service.state.sends.put(send);
    service.raise({
      account: send.account,
      callId: send.callId,
      sendId: send.id,
      occasion: `send.${step.status}` as Occasion,
      data: sendFields(send),
    });
    service.state.commitSoon();
    continueSend(service, send);
  });
}
