import type { IncomingMessage } from "node:http";
import { sign } from "@svc-webhooks/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { listen } from "../../../test/support/servers.js";
import { secret } from "../src/deliveries.js";
import { check } from "../src/http/check.js";
import type { Contender, Duty } from "../src/http/contender.js";
import { groups } from "../src/http/groups.js";
import { handlerUnderOrders } from "../src/http/handler.js";
import type { Server } from "../src/http/server-process.js";

/** A contender's server, in this process. */
async function serve(mount: Contender["mount"]): Promise<Server> {
  const { handle, obey } = handlerUnderOrders();
  return { port: await listen(mount(handle)), order: async (order) => obey(order) };
}

// Some print what their handlers throw.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

for (const load of Object.values(groups)) {
  const { title, contenders } = await load();
  describe(`on ${title}`, () => {
    for (const contender of contenders) {
      test(`${contender.name} answers as it should`, async () => {
        await expect(check(contender, await serve(contender.mount))).resolves.toBeUndefined();
      });
    }
  });
}

/** A receiver that is right but for its fault. */
const receiverWith =
  (fault: string): Contender["mount"] =>
  (handle) => {
    const states = new Map<string, "running" | "done">();

    const receive = async (request: IncomingMessage): Promise<number> => {
      const { "x-svc-signature": signature, "x-svc-delivery-id": id = "" } = request.headers;
      const body = Buffer.concat(await request.toArray());
      const announced = request.headers["content-length"] ? "announced" : "unannounced";
      if (body.length > 2 ** 20 && fault !== `takes any ${announced} length`) return 413;
      if (!(await isGenuine(body, signature))) {
        if (fault === "runs what it refuses") void handle(JSON.parse(body.toString()));
        return 401;
      }
      const state = states.get(String(id));
      if (state === "done" && fault !== "runs what is done") return 200;
      if (state === "running" && fault !== "runs what is running") {
        return fault === "acknowledges what is running" ? 200 : 503;
      }
      states.set(String(id), "running");
      try {
        await run(JSON.parse(body.toString()));
        states.set(String(id), "done");
        return 200;
      } catch {
        if (fault === "gives up") states.set(String(id), "done");
        else states.delete(String(id));
        return fault === "keeps failures to itself" ? 200 : 500;
      }
    };

    const isGenuine = async (body: Buffer, signature: unknown) =>
      fault === "trusts anybody" ||
      (fault === "trusts who does not sign" && signature === undefined) ||
      signature === (await sign(body, secret));

    const run = async (event: unknown) => {
      if (fault === "runs nothing") return;
      if (fault === "runs twice") handle(event).catch(() => {});
      const work = handle(event);
      if (fault === "does not wait") work.catch(() => {});
      else await work;
    };

    return async (request, response) => {
      response.writeHead(await receive(request)).end();
    };
  };

describe("the check finds a receiver that", () => {
  test.each([
    ["runs nothing", "it does not run the handler once"],
    ["runs twice", "it does not run the handler once"],
    ["does not wait", "it answers 200 to a delivery whose handler fails"],
    ["keeps failures to itself", "it answers 200 to a delivery whose handler fails"],
    ["trusts anybody", "it answers 200 to a body that was changed"],
    ["trusts who does not sign", "it answers 200 to a body without a signature"],
    ["runs what it refuses", "it runs the handler for what it refuses"],
    ["runs what is done", "it runs a copy of what is done"],
    ["runs what is running", "it runs a copy of what is running"],
    ["acknowledges what is running", "it answers 200 to a copy of what is running"],
    ["gives up", "it does not run again what has failed"],
    ["takes any announced length", "it answers 200 to a body beyond 1 MiB"],
    ["takes any unannounced length", "it answers 200 to a body beyond 1 MiB of unannounced length"],
  ])("%s", async (fault, problem) => {
    const server = await serve(receiverWith(fault));
    await expect(check({ name: "the bad one", lacks: [] }, server)).rejects.toThrow(
      new RegExp(`^the bad one: .*${problem}`),
    );
  });

  test("has what it is said to lack", async () => {
    const lacks: readonly Duty[] = ["signature", "duplicates", "body limit"];
    const server = await serve(receiverWith("no fault"));
    await check({ name: "the good one", lacks: [] }, server);
    await expect(check({ name: "the good one", lacks }, server)).rejects.toThrow(
      "the good one: it has what it is said to lack: signature; " +
        "it has what it is said to lack: duplicates; it has what it is said to lack: body limit",
    );
  });

  test("is not there, whatever it is said to lack", async () => {
    const lacks: readonly Duty[] = ["signature", "duplicates", "body limit"];
    const gone: Server = { port: 1, order: async () => 0 };
    await expect(check({ name: "nobody", lacks }, gone)).rejects.toThrow(
      "nobody: it cannot be asked",
    );
  });
});

test("a handler takes only the event that was sent", async () => {
  const { handle, obey } = handlerUnderOrders();
  const wrong: readonly unknown[] = [{ type: "another" }, {}, '{"type":"email.delivered"}'];
  for (const event of wrong) await expect(handle(event)).rejects.toThrow("not what was sent");
  expect(obey("count")).toBe(0);
});
