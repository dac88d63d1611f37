import { writeFileSync } from "node:fs";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { testLinux } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { develop, server } from "./developing.js";
import { newFile, start } from "./support.js";

test("options behind -- belong to the app", async () => {
  const { words, env } = await develop("exit 1");
  const { code, stderr } = await start([...words, "--json"], env).ended;
  expect(stderr).toMatch(/\nsvc-webhooks dev: The app ended with exit code 1 before/);
  expect(code).toBe(1);
});

test.each(["", " "])("an empty program is wrong usage: %j", async (program) => {
  const { code, stderr } = await start(["dev", "--", program, "app.mjs"]).ended;
  expect(stderr).toBe(
    "svc-webhooks dev: The program name after -- is empty. Write the command that starts your app after --, such as -- node app.mjs.\n",
  );
  expect(code).toBe(2);
});

testLinux("the advice names the address of an IPv6 listener", async () => {
  const app = server("", `server.listen({ port: process.env.PORT, host: "::1" })`);
  const { words, env, port } = await develop(`exec ${app}`, ["--wait=2"]);
  const local = words.map((word) => word.replace("localhost", "127.0.0.1"));
  const { code, stderr } = await start(local, env).ended;
  expect(stderr).toContain(
    `The app is not accepting connections at 127.0.0.1:${port} after 2 s. It listens on [::1]:${port}. ` +
      `Make it listen on 127.0.0.1, or pass --to http://[::1]:${port}/webhooks.\n`,
  );
  expect(code).toBe(1);
});

describe("with a proxy in the environment", () => {
  test("the running sandbox is used, and the app reaches it without the proxy", async () => {
    const { url } = await openSandbox({ clock: "real" });
    const asked: string[] = [];
    const proxy = await listen((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(503).end();
    });
    const address = `http://127.0.0.1:${proxy}`;
    // Node uses these variables since 22.21 and 24.5. On older versions, the option has the same effect.
    const fetch = `globalThis.fetch=(_,options)=>globalThis.before("${address}",options)`;
    const variables = {
      HTTP_PROXY: address,
      http_proxy: address,
      NODE_USE_ENV_PROXY: "1",
      NODE_OPTIONS: `--import=data:text/javascript,globalThis.before=globalThis.fetch;${encodeURIComponent(fetch)}`,
    };
    const file = newFile("app.mjs");
    writeFileSync(
      file,
      `console.log([process.env.NO_PROXY, process.env.no_proxy].join(" and ")); process.exit(7);`,
    );
    const words = ["dev", "--sandbox-port", new URL(url).port, "--", process.execPath, file];
    const env = { ...variables, NO_PROXY: "intern.test", no_proxy: undefined, PORT: undefined };
    const to = `--to=http://localhost:${await freePort()}/`;
    const { stdout, stderr } = await start([...words.slice(0, 3), to, ...words.slice(3)], env)
      .ended;
    expect(stdout).toContain(`sandbox   ${url}/`);
    expect(stdout).toContain("intern.test,127.0.0.1 and intern.test,127.0.0.1\n");
    expect(stderr).not.toContain("Started a sandbox");
    expect(asked).toEqual([]);
  });
});

test("a sandbox that the command starts is named", async () => {
  const to = `--to=http://localhost:${await freePort()}/`;
  const words = ["dev", "--sandbox-port=0", to, "--", process.execPath, "-e", "process.exit(7)"];
  const { stdout, stderr } = await start(words).ended;
  const [, url] = /^sandbox +(\S+)$/m.exec(stdout) ?? [];
  expect(stderr).toContain(`Started a sandbox at ${url}.\n`);
});
