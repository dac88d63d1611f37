import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { signed } from "@svc-webhooks/kit/deliveries";
import { startModule } from "@svc-webhooks/kit/programs";
import { codeBlocks } from "./readme.js";

interface Script {
  readonly handlerTimeoutMs?: number;
  readonly deadlineMs?: number;
  /** The number of completions that the store rejects first. */
  readonly rejections?: number;
  /** Code that runs before the drain. */
  readonly lead?: string;
  /** Code that runs after the drain. */
  readonly exit: string;
  /** Code that runs on SIGTERM, instead of all of the above. */
  readonly shutdown?: string;
}

/** Returns the code of a server whose handler awaits a message from its parent, and which drains on SIGTERM. */
const script = ({
  handlerTimeoutMs = 10_000,
  deadlineMs = 20_000,
  rejections = 0,
  lead = "",
  exit,
  shutdown = `
  process.once("SIGTERM", async () => {
    server.close();
    console.log("draining");
    ${lead}
    console.log("left", await receiver.drain({ deadlineMs: ${deadlineMs} }));
    ${exit}
  });`,
}: Script) => `
  import { once } from "node:events";
  import { createServer } from "node:http";
  import { createReceiver, memoryStore } from "@svc-webhooks/core";
  import { webhooks } from "@svc-webhooks/node";

  const store = memoryStore();
  let rejections = ${rejections};
  const receiver = createReceiver({
    secret: "whsec_test",
    handlerTimeoutMs: ${handlerTimeoutMs},
    store: {
      ...store,
      async complete(...call) {
        if (rejections-- > 0) throw new Error("unavailable");
        const result = await store.complete(...call);
        console.log("recorded", result);
        return result;
      },
    },
    on: {
      "*": async () => {
        console.log("started");
        await once(process, "message");
        console.log("effect");
      },
    },
  });
  const server = createServer(webhooks(receiver));
  ${shutdown}
  server.listen(0, "127.0.0.1", () => console.log("port", server.address().port));
`;

/** Code that closes the parent's channel. Then only the receiver could keep the process alive. */
const disconnect = "process.disconnect();";
const exits: readonly (readonly [string, string])[] = [
  ["exits by itself", disconnect],
  ["calls process.exit", "process.exit();"],
];

async function serve(options: Script) {
  const child = startModule(script(options));
  const lines: string[] = [];
  const closed = once(child, "close");
  const output = createInterface(child.stdout);
  const [listening] = (await once(output, "line")) as [string];
  const port = Number(listening.slice("port ".length));
  output.on("line", (line) => lines.push(line));
  const printed = async (line: string) => {
    while (!lines.includes(line)) await once(output, "line");
  };
  return {
    port,
    /** Resolves once the server has printed the line. */
    printed,
    deliver: async () => send(port, await signed()),
    terminate: () => child.kill("SIGTERM"),
    finishHandler: () => child.send("finish"),
    /** Checks that the server exits with 0. Resolves with the lines printed since it listened. */
    exited: async (): Promise<readonly string[]> => {
      expect(await closed).toEqual([0, null]);
      return lines;
    },
  };
}

const drained = ["started", "draining", "effect", "recorded owner", "left 0"];

describe.each(exits)("a server that drains on SIGTERM and then %s", (_how, exit) => {
  test("finishes the running handler, records it, responds and exits with 0", async () => {
    const { deliver, printed, terminate, finishHandler, exited } = await serve({ exit });
    const reply = deliver();
    await printed("started");
    terminate();
    await printed("draining");
    finishHandler();
    expect(await reply).toMatchObject({ status: 200, code: "processed" });
    expect(await exited()).toEqual(drained);
  });

  test("also waits for a run that continues after its response", async () => {
    const server = await serve({ exit, handlerTimeoutMs: 1 });
    expect(await server.deliver()).toMatchObject({ code: "handler_timeout" });
    server.terminate();
    await server.printed("draining");
    server.finishHandler();
    expect(await server.exited()).toEqual(drained);
  });

  test("exits with 0 immediately if no handler runs", async () => {
    const { terminate, exited } = await serve({ exit });
    terminate();
    expect(await exited()).toEqual(["draining", "left 0"]);
  });

  test("exits at the deadline without an unfinished handler, and reports it", async () => {
    const { deliver, terminate, exited } = await serve({
      exit,
      handlerTimeoutMs: 1,
      deadlineMs: 1,
    });
    expect(await deliver()).toMatchObject({ code: "handler_timeout" });
    terminate();
    expect(await exited()).toEqual(["started", "draining", "left 1"]);
  });
});

test("a drain keeps the process alive until a failed completion has been recorded", async () => {
  // Only the drain is left, because a pending retry does not keep the process alive.
  const server = await serve({ rejections: 1, lead: disconnect, exit: "" });
  const reply = server.deliver();
  await server.printed("started");
  server.finishHandler();
  expect(await reply).toMatchObject({ code: "processed" });
  server.terminate();
  expect((await server.exited()).slice(-2)).toEqual(["recorded owner", "left 0"]);
});

describe("the shutdown in the README of the core", () => {
  const recipe = codeBlocks("packages/core/README.md")
    .map(({ code }) => code.slice(code.indexOf("process.once")))
    .find((code) => code.startsWith('process.once("SIGTERM"'));

  const serveRecipe = (deadlineMs: number) =>
    serve({ exit: "", shutdown: recipe?.replace("20_000", String(deadlineMs)) ?? "" });

  test("sends the response of a handler that runs, and exits with 0", async () => {
    const { deliver, printed, terminate, finishHandler, exited } = await serveRecipe(20_000);
    const reply = deliver();
    await printed("started");
    terminate();
    finishHandler();
    expect(await reply).toMatchObject({ status: 200, code: "processed" });
    expect(await exited()).toEqual(["started", "effect", "recorded owner"]);
  });

  test("exits at its deadline although a stranger continues to send an unsigned body", async () => {
    const { port, terminate, exited } = await serveRecipe(300);
    const stranger = dial(port);
    stranger.write(requestHead({ "transfer-encoding": "chunked" }));
    expect(await stranger.response).toContain("signature_missing");
    // Node would close a silent connection after its keep-alive timeout.
    const dribble = setInterval(() => stranger.write("1\r\nx\r\n"), 100);
    onTestFinished(() => clearInterval(dribble));
    terminate();
    await exited();
  });
});
