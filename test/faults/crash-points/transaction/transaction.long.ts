import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { bundled, drained, startChild, type Child } from "../../processes/child.js";
import { effectsServer, type EffectsServer } from "../effects-server.js";
import {
  resultAt,
  transactionPoints,
  type Fault,
  type Place,
  type TransactionPoint,
} from "./points.js";
import type { ReceiverSettings } from "./receiver.js";

describeWithPostgres("a process", () => {
  let server: EffectsServer;
  let script: string;
  beforeAll(async () => {
    [server, script] = await Promise.all([
      effectsServer(),
      bundled(fileURLToPath(new URL("receiver.ts", import.meta.url))),
    ]);
  });
  afterAll(() => server?.close());

  const start = (settings: Omit<ReceiverSettings, "connectionString">) =>
    startChild(script, { ...settings, connectionString: server.connectionString });

  /**
   * Sends a delivery to a process that strikes itself at `point`, then to another process until it gets 200. Resumes
   * the first process if it is frozen, and sends one more copy.
   */
  async function play(
    { onTestFinished }: TestContext,
    second: Child,
    { point, fault, place }: Case,
  ) {
    const first = await start({ place, strike: { point, fault } });
    onTestFinished(() => void first.process.kill("SIGKILL"));
    const deliveryId = `dlv_${point.replace(" ", "-")}_${fault}_${place}`;

    const attempt = async ({ port }: Child): Promise<string> => {
      const delivery = await signedDelivery({ type: "effect.wanted" }, { deliveryId });
      const response = await fetch(`http://127.0.0.1:${port}`, delivery).catch(() => undefined);
      if (!response) return "no response";
      const { status, error } = (await response.json()) as ResponseBody;
      return `${response.status} ${status ?? error?.code ?? ""}`;
    };

    const struck = once(first.process, fault === "dies" ? "exit" : "message");
    // On a busy machine, an attempt can fail with 503 or 500 before it reaches the point.
    const isEarly = (response: Promise<string>) =>
      Promise.race([
        struck.then(() => false),
        response.then((text) => {
          if (text.startsWith("200")) throw new Error(`The process never reached "${point}".`);
          return text !== "no response";
        }),
      ]);
    let response: Promise<string>;
    do response = attempt(first);
    while (await isEarly(response));
    await struck;

    let next = "";
    const isAcknowledged = async () => {
      next = await attempt(second);
      return next.startsWith("200");
    };
    await until(isAcknowledged, "the second process returns 200");

    if (fault === "freezes") {
      const ended = drained(first);
      // The process reports the point before its signal stops it, so the first SIGCONT may arrive too early.
      await until(() => !first.process.kill("SIGCONT"), "the resumed process exits");
      await ended;
    }
    await response;
    const { rowCount: effects } = await server.pool.query(
      "select from effects where delivery_id = $1",
      [deliveryId],
    );
    return { effects, next, redelivery: await attempt(second) };
  }

  for (const place of ["inside", "outside"] as const) {
    describe(`whose effect is ${place} of \`transaction\``, () => {
      let second: Child;
      beforeAll(async () => {
        second = await start({ place });
      });
      afterAll(() => void second?.process.kill("SIGKILL"));

      for (const point of transactionPoints) {
        const result = resultAt(point, place);
        if (!result) continue;
        for (const fault of ["dies", "freezes"] as const) {
          const effects = result[fault];
          test.concurrent(
            `writes it ${times[effects]} if it ${fault} at "${point}"`,
            async (context) => {
              expect(await play(context, second, { point, fault, place })).toEqual({
                effects,
                next: `200 ${result.next}`,
                redelivery: "200 duplicate",
              });
            },
          );
        }
      }
    });
  }
});

const times = { 1: "once", 2: "twice" };

interface Case {
  readonly point: TransactionPoint;
  readonly fault: Fault;
  readonly place: Place;
}

interface ResponseBody {
  readonly status?: string;
  readonly error?: { readonly code: string };
}
