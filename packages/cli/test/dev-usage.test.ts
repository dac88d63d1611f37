import { testLinux } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { develop, server } from "./developing.js";
import { start } from "./support.js";

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
