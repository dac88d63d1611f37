import { storedAndKilled } from "./queue-scene.js";
import type { Scene } from "./scene.js";
import type { Stage } from "./stage.js";
import { heading, note } from "./timeline.js";

const email = (subject: string) => ({
  from: "shop@example.test",
  to: ["ada@customer.test"],
  subject,
  text: "Thank you.",
});

const count = (stage: Stage, code: string) =>
  stage.reports.filter((report) => report.code === code).length;

const failsOnce: Scene = async ({ client, stage }) => {
  heading("A handler fails once, and the retry succeeds");
  stage.newScene();
  stage.flaky.add("Your receipt");
  await client.emails.send(email("Your receipt"));
  await stage.until(() => count(stage, "processed") === 2);
  return count(stage, "handler_failed") === 1 ? undefined : "the handler did not fail once";
};

const concurrentCopies: Scene = async ({ client, quietly, stage, endpointId }) => {
  heading("The service sends an event twice at the same time");
  stage.newScene();
  const fault = { target: endpointId, kind: "duplicate", times: 1 };
  await quietly.request("POST", "/_sandbox/faults", { body: fault });
  await client.emails.send(email("Your invoice"));
  await stage.until(() => count(stage, "processed") === 2 && count(stage, "in_flight") === 1);
  note("503 to the copy: a 200 would lose the event if the first handler died.");
  return undefined;
};

const redelivered: Scene = async ({ client, quietly, stage, endpointId }) => {
  heading("A handler fails until the service gives up; the delivery is redelivered");
  stage.newScene();
  stage.broken.add("Your refund");
  await client.emails.send(email("Your refund"));
  await stage.until(() => count(stage, "handler_failed") === 2);
  note("The sandbox's clock moves by 81 s, so that you need not wait for the retries.");
  await quietly.request("POST", "/_sandbox/clock", { body: { advance_ms: 81_000 } });
  await stage.until(() => count(stage, "handler_failed") === 10);
  stage.broken.clear();
  note("The handler is repaired.");
  const redelivery = await client.webhookEvents.redeliverFailed({
    webhook_endpoint_id: endpointId,
  });
  await stage.until(() => count(stage, "processed") === 2);
  return redelivery.redelivered === 2 ? undefined : "a delivery of it has not failed";
};

const rotation: Scene = async ({ client, quietly, stage, endpointId, secrets }) => {
  heading("The secret is rotated while 40 events are on their way");
  stage.newScene({ quiet: true });
  const send = (n: number) => quietly.emails.send(email(`Newsletter ${n}`));
  await Promise.all(Array.from({ length: 10 }, (_, n) => send(n)));
  const { secret } = await client.webhookEndpoints.rotateSecret(endpointId);
  await Promise.all(Array.from({ length: 10 }, (_, n) => send(10 + n)));
  await stage.until(() => count(stage, "signature_mismatch") >= 5);
  note("The receiver does not know the new secret yet, and refuses it.");
  secrets.push({ id: "new", key: secret.reveal() });
  note("Now it accepts both, and the service's retries succeed.");
  await stage.until(() => count(stage, "processed") === 40);
  note(
    `40 events handled, ${count(stage, "signature_mismatch")} attempts refused on the way, 0 lost.`,
  );
  secrets.shift();
  return undefined;
};

const refused: Scene = async ({ quietly, stage }) => {
  heading("A forged signature, and a copy of what has been handled");
  const path = `/_sandbox/deliveries/${stage.reports.at(-1)?.deliveryId}/send` as const;
  stage.newScene();
  const copy = { times: 1, concurrent: false };
  await quietly.request("POST", path, { body: { ...copy, tamper: "wrong_secret" } });
  await stage.until(() => count(stage, "signature_mismatch") === 1);
  await quietly.request("POST", path, { body: copy });
  await stage.until(() => count(stage, "duplicate") === 1);
  return undefined;
};

export const scenes: readonly Scene[] = [
  failsOnce,
  concurrentCopies,
  redelivered,
  rotation,
  refused,
  storedAndKilled,
];
