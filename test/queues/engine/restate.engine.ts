import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createReceiver, PermanentError, RetryError, type Receiver } from "@svc-webhooks/core";
import type { Inbox } from "@svc-webhooks/core/inbox";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { freePort } from "@svc-webhooks/kit/free-port";
import { until } from "@svc-webhooks/kit/until";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importBlock } from "../blocks.js";
import { restateServer, type RestateServer } from "./restate-server.js";

/** The block of `docs/queues.md` about Restate. */
interface Recipe {
  readonly webhookService: (receiver: Pick<Receiver, "resume">) => object;
  readonly restateInbox: (url: string) => Inbox;
}

/** The part of `@restatedev/restate-sdk` that the tests call. */
interface Sdk {
  readonly serve: (options: object) => Promise<number>;
}

const folder = process.env["ENGINE_FOLDER"] ?? "";

describe("Restate", () => {
  let server: RestateServer;
  let receiver: Receiver;
  let run: (type: string, count: number) => void = () => {};
  const runs: { readonly type: string; readonly at: number }[] = [];
  const runsOf = (type: string) => runs.filter((one) => one.type === type);

  beforeAll(async () => {
    server = await restateServer(folder);
    const recipe = await importBlock<Recipe>(folder, "docs/queues.md", '"@restatedev/restate-sdk"');
    const inbox = recipe.restateInbox(server.ingress);
    receiver = createReceiver({
      secret,
      name: "mail",
      log: () => {},
      onHandlerError: () => {},
      on: {
        "*": inbox((event) => {
          const { type } = event;
          runs.push({ type, at: performance.now() });
          run(type, runsOf(type).length);
        }),
      },
    });
    const sdk = (await import(
      pathToFileURL(join(folder, "node_modules/@restatedev/restate-sdk/dist/index.js")).href
    )) as Sdk;
    const port = await freePort();
    await sdk.serve({ services: [recipe.webhookService(receiver)], port, logger: () => {} });
    await server.register(port);
  });
  afterAll(() => server?.close());

  /** Receives an event, and a copy of it for each further delivery. */
  const receive = async (type: string, copies = 1) => {
    const delivery = await signed(eventBody(type), { "x-svc-delivery-id": type });
    const outcomes = await Promise.all(
      Array.from({ length: copies }, () => receiver.receive(delivery)),
    );
    expect(outcomes.map(({ code }) => code)).toEqual(Array(copies).fill("enqueued"));
  };
  const newest = async () => (await server.invocations()).at(-1);
  const isCompleted = async () => (await newest())?.status === "completed";

  test("runs an event once, however many copies arrive", async () => {
    await receive("a", 3);
    await until(isCompleted, "it is done");
    await receive("a");
    expect(await server.invocations()).toHaveLength(1);
    expect(runsOf("a")).toHaveLength(1);
    expect(await newest()).toMatchObject({ completion_result: "success" });
  });

  test("runs an event again after a failure, and after the delay of a RetryError", async () => {
    run = (_type, count) => {
      if (count === 1) throw new Error("The handler failed.");
      if (count === 2) throw new RetryError({ retryAfterMs: 3_000 });
    };
    await receive("b");
    await until(() => runsOf("b").length === 3, "it has run three times");
    await until(isCompleted, "it is done");
    const [, second, third] = runsOf("b");
    expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThan(2_900);
    expect(await newest()).toMatchObject({ completion_result: "success" });
  });

  test("ends an event as failed after a PermanentError, and a copy changes nothing", async () => {
    run = () => {
      throw new PermanentError("There is no such customer.");
    };
    await receive("c");
    await until(isCompleted, "it has failed");
    expect(await newest()).toMatchObject({
      completion_result: "failure",
      completion_failure: expect.stringContaining("There is no such customer.") as string,
    });
    const before = (await server.invocations()).length;
    await receive("c");
    expect(await server.invocations()).toHaveLength(before);
    expect(runsOf("c")).toHaveLength(1);
  });

  test("keeps an event that it has accepted when its server crashes", async () => {
    run = (_type, count) => {
      if (count === 1) throw new RetryError({ retryAfterMs: 2_000 });
    };
    await receive("d");
    await until(() => runsOf("d").length === 1, "it has run once");
    await server.crash();
    await until(() => runsOf("d").length === 2, "it runs again");
    await until(isCompleted, "it is done");
    expect(await newest()).toMatchObject({ completion_result: "success" });
  });
});
