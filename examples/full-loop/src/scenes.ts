import type { Service } from "./service.js";
import type { Stage } from "./stage.js";
import { heading, note } from "./timeline.js";

/** What all scenes work with. */
export interface Demo {
  readonly service: Service;
  readonly stage: Stage;
  readonly endpointId: string;
  /** The secrets that the receiver accepts. It reads them again for each delivery. */
  readonly secrets: { readonly id: string; readonly key: string }[];
}

/** Plays one scene; resolves to what went wrong, if anything did. */
export type Scene = (demo: Demo) => Promise<string | undefined>;

const email = (subject: string) => ({
  from: "shop@example.test",
  to: ["ada@customer.test"],
  subject,
  text: "Thank you.",
});

const count = (stage: Stage, code: string) =>
  stage.reports.filter((report) => report.code === code).length;

const failsOnce: Scene = async ({ service, stage }) => {
  heading("A handler fails once, and the retry succeeds");
  stage.newScene();
  stage.flaky.add("Your receipt");
  await service.call("POST", "/v1/emails", email("Your receipt"));
  await stage.until(() => count(stage, "processed") === 2);
  return count(stage, "handler_failed") === 1 ? undefined : "the handler did not fail once";
};

const concurrentCopies: Scene = async ({ service, stage, endpointId }) => {
  heading("The service sends an event twice at the same time");
  stage.newScene();
  const fault = { target: endpointId, kind: "duplicate", times: 1 };
  await service.call("POST", "/_sandbox/faults", fault, true);
  await service.call("POST", "/v1/emails", email("Your invoice"));
  await stage.until(() => count(stage, "processed") === 2 && count(stage, "in_flight") === 1);
  note("503 to the copy: a 200 would lose the event if the first handler died.");
  return undefined;
};

const redelivered: Scene = async ({ service, stage, endpointId }) => {
  heading("A handler fails until the service gives up; the delivery is redelivered");
  stage.newScene();
  stage.broken.add("Your refund");
  const sent = await service.call("POST", "/v1/emails", email("Your refund"));
  await stage.until(() => count(stage, "handler_failed") === 2);
  note("The sandbox's clock moves by 81 s, so that you need not wait for the retries.");
  await service.call("POST", "/_sandbox/clock", { advance_ms: 81_000 }, true);
  await stage.until(() => count(stage, "handler_failed") === 10);
  stage.broken.clear();
  note("The handler is repaired.");
  const list = `/v1/webhook-events?webhook_endpoint_id=${endpointId}&limit=2`;
  const { data } = await service.call("GET", list);
  if (data.some(({ status }) => status !== "failed")) return "a delivery of it has not failed";
  for (const { event_id } of data) {
    await service.call("POST", `/v1/webhook-events/${event_id}:redeliver`);
  }
  await stage.until(() => count(stage, "processed") === 2);
  return sent.status === "accepted" ? undefined : "the email was not accepted";
};

const rotation: Scene = async ({ service, stage, endpointId, secrets }) => {
  heading("The secret is rotated while 40 events are on their way");
  stage.newScene({ quiet: true });
  const send = (n: number) => service.call("POST", "/v1/emails", email(`Newsletter ${n}`), true);
  await Promise.all(Array.from({ length: 10 }, (_, n) => send(n)));
  const path = `/v1/webhook-endpoints/${endpointId}:rotate-secret`;
  const { secret } = await service.call("POST", path);
  await Promise.all(Array.from({ length: 10 }, (_, n) => send(10 + n)));
  await stage.until(() => count(stage, "signature_mismatch") >= 5);
  note("The receiver does not know the new secret yet, and refuses it.");
  secrets.push({ id: "new", key: secret });
  note("Now it accepts both, and the service's retries succeed.");
  await stage.until(() => count(stage, "processed") === 40);
  note(
    `40 events handled, ${count(stage, "signature_mismatch")} attempts refused on the way, 0 lost.`,
  );
  secrets.shift();
  return undefined;
};

const refused: Scene = async ({ service, stage, endpointId }) => {
  heading("A forged signature, and a copy of what has been handled");
  stage.newScene();
  const list = `/v1/webhook-events?webhook_endpoint_id=${endpointId}&limit=1`;
  const { data } = await service.call("GET", list, undefined, true);
  const again = `/_sandbox/deliveries/${data[0]?.delivery_id}/send`;
  await service.call("POST", again, { times: 1, at_once: false, tamper: "wrong_secret" }, true);
  await stage.until(() => count(stage, "signature_mismatch") === 1);
  await service.call("POST", again, { times: 1, at_once: false }, true);
  await stage.until(() => count(stage, "duplicate") === 1);
  return undefined;
};

export const scenes: readonly Scene[] = [
  failsOnce,
  concurrentCopies,
  redelivered,
  rotation,
  refused,
];
