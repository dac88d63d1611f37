import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { signed } from "@svc-webhooks/kit/deliveries";
import { codeBlocks } from "./readme.js";

interface Script {
  readonly handlerTimeoutMs?: number;
  readonly deadlineMs?: number;
  /** How many completions the store rejects first. */
  readonly rejections?: number;
  /** Code that runs before the drain. */
  readonly lead?: string;
  /** Code that runs after the drain. */
  readonly exit: string;
  /** What happens on SIGTERM, instead of all of the above. */
  readonly shutdown?: string;
}

/** A server whose handler awaits a message from its parent, and which drains on SIGTERM. */
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

/** Without its parent's channel and its server, only the receiver could keep the process alive. */
const disconnect = "process.disconnect();";
const exits: readonly (readonly [string, string])[] = [
  ["exits by itself", disconnect],
  ["calls process.exit", "process.exit();"],
];

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
  /** The lines printed since the server started to listen. */
  readonly lines: readonly string[];
  /** Resolves once the line has been printed. */
  readonly printed: (line: string) => Promise<void>;
  /** Resolves with the exit code and signal, once all output has been read. */
  readonly closed: Promise<unknown[]>;
}

async function serve(options: Script): Promise<Server> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script(options)], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const closed = once(child, "close");
  if (!child.stdout) throw new Error("The child process must have a stdout pipe.");
  const output = createInterface(child.stdout);
  const [listening] = (await once(output, "line")) as [string];
  output.on("line", (line) => lines.push(line));
  return {
    child,
    port: Number(listening.slice("port ".length)),
    lines,
    async printed(line) {
      while (!lines.includes(line)) await once(output, "line");
    },
    closed,
  };
}

describe.each(exits)("a server that drains on SIGTERM and then %s", (_how, exit) => {
  test("finishes the running handler, records it, responds and exits with 0", async () => {
    const { child, port, lines, printed, closed } = await serve({ exit });
    const reply = send(port, await signed());
    await printed("started");
    child.kill("SIGTERM");
    await printed("draining");
    child.send("finish");

    expect(await reply).toMatchObject({ status: 200, code: "processed" });
    expect(await closed).toEqual([0, null]);
    expect(lines).toEqual(["started", "draining", "effect", "recorded owner", "left 0"]);
  });

  test("also waits for a run that continues after its response", async () => {
    const { child, port, lines, printed, closed } = await serve({ exit, handlerTimeoutMs: 1 });
    expect(await send(port, await signed())).toMatchObject({ code: "handler_timeout" });
    child.kill("SIGTERM");
    await printed("draining");
    child.send("finish");

    expect(await closed).toEqual([0, null]);
    expect(lines).toEqual(["started", "draining", "effect", "recorded owner", "left 0"]);
  });

  test("exits with 0 immediately if no handler runs", async () => {
    const { child, lines, closed } = await serve({ exit });
    child.kill("SIGTERM");
    expect(await closed).toEqual([0, null]);
    expect(lines).toEqual(["draining", "left 0"]);
  });

  test("exits at the deadline without an unfinished handler, and reports it", async () => {
    const { child, port, lines, closed } = await serve({
      exit,
      handlerTimeoutMs: 1,
      deadlineMs: 1,
    });
    expect(await send(port, await signed())).toMatchObject({ code: "handler_timeout" });
    child.kill("SIGTERM");
    expect(await closed).toEqual([0, null]);
    expect(lines).toEqual(["started", "draining", "left 1"]);
  });
});

test("a drain keeps the process alive until a failed completion has been recorded", async () => {
  const { child, port, lines, printed, closed } = await serve({
    rejections: 1,
    // Leaves only the drain, because a pending retry does not keep the process alive.
    lead: disconnect,
    exit: "",
  });
  const reply = send(port, await signed());
  await printed("started");
  child.send("finish");
  expect(await reply).toMatchObject({ code: "processed" });
  child.kill("SIGTERM");
  expect(await closed).toEqual([0, null]);
  expect(lines.slice(-2)).toEqual(["recorded owner", "left 0"]);
});

describe("the shutdown in the README of the core", () => {
  const recipe = codeBlocks("packages/core/README.md")
    .map(({ code }) => code.slice(code.indexOf("process.once")))
    .find((code) => code.startsWith('process.once("SIGTERM"'));

  const serveRecipe = (deadlineMs: number) =>
    serve({ exit: "", shutdown: recipe?.replace("20_000", String(deadlineMs)) ?? "" });

  test("sends the response of a handler that runs, and exits with 0", async () => {
    const { child, port, lines, printed, closed } = await serveRecipe(20_000);
    const reply = send(port, await signed());
    await printed("started");
    child.kill("SIGTERM");
    child.send("finish");
    expect(await reply).toMatchObject({ status: 200, code: "processed" });
    expect(await closed).toEqual([0, null]);
    expect(lines).toEqual(["started", "effect", "recorded owner"]);
  });

  test("exits at its deadline although a stranger continues to send an unsigned body", async () => {
    const { child, port, closed } = await serveRecipe(300);
    const stranger = dial(port);
    stranger.write(requestHead({ "transfer-encoding": "chunked" }));
    expect(await stranger.response).toContain("signature_missing");
    // Node would close a silent connection after its keep-alive timeout.
    const dribble = setInterval(() => stranger.write("1\r\nx\r\n"), 100);
    onTestFinished(() => clearInterval(dribble));
    child.kill("SIGTERM");
    expect(await closed).toEqual([0, null]);
  });
});
