import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { expect } from "vitest";
import { develop, server } from "./developing.js";

testLinux("an output that is not read holds the app", async () => {
  // A character that no line of the command itself has.
  const line = "#".repeat(1_023);
  const lines = 65_536;
  const app = server(
    "",
    `server.listen(process.env.PORT);
    for (let n = 0; n < ${lines}; n += 1) {
      if (process.stdout.write("${line}\\n")) continue;
      const timer = setTimeout(() => console.error("held"), 1_000);
      await new Promise((resolve) => process.stdout.once("drain", resolve));
      clearTimeout(timer);
    }
    console.error("written")`,
  );
  const { run } = await develop(`exec ${app}`);
  const { child, shows, interrupt, output } = run();
  child.stdout.pause();
  await shows(/^(?:held|written)$/m, "stderr");
  expect(output.stderr).not.toContain("written");
  child.stdout.resume();
  await shows(/^written$/m, "stderr");
  expect(await interrupt()).toBe(130);
  // The command may print a line of its own between two parts of the app's output, within a line of it.
  expect(output.stdout.replaceAll(/[^#]+/g, "")).toHaveLength(lines * line.length);
});

testPosix("an output without a reader ends the app", async () => {
  const chatty = `process.on("SIGTERM", () => process.exit());
    setInterval(() => console.log("x".repeat(10_000)), 1);`;
  const { run, status } = await develop(`exec ${server(chatty)}`);
  const { shows, child, ended } = run();
  await shows(/x/);
  child.stdout.destroy();
  const { code, stderr } = await ended;
  expect(stderr).toMatch(/\bwe_\w+ was archived\.\n$/);
  expect(stderr).not.toContain("Warning");
  expect([code, await status()]).toEqual([1, ["archived"]]);
});
