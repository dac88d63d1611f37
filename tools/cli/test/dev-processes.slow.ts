import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { until } from "@svc-webhooks/kit/until";
import { describePosix, testLinux } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { develop, server } from "./developing.js";
import { testInTerminal, inTerminal, newFile, shell } from "./support.js";

const deaf = `for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => {});`;

/** Returns a file that a program waits for, and the shell's command to wait for it. */
function gate() {
  const file = newFile();
  return {
    file,
    open: () => writeFileSync(file, ""),
    awaited: `until test -e '${file}'; do sleep 0.05; done`,
  };
}

/** Code of an app that calls `then` once the file exists. */
const whenExists = (file: string, then: string) => `{
  const timer = setInterval(() => {
    if (!existsSync(${JSON.stringify(file)})) return;
    clearInterval(timer);
    ${then}
  }, 20);
}`;

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "localhost");
    socket.once("error", () => resolve(true)).once("connect", () => resolve(false));
    onTestFinished(() => void socket.destroy());
  });

describePosix("an app whose main process has exited", () => {
  test("ends the command, although its child listens and holds its output", async () => {
    const { awaited, open } = gate();
    const { run, port, status } = await develop(`${server()} & ${awaited}; exit 0`);
    const { shows, ended } = run();
    await shows(/Sent a test email/, "stderr");
    open();
    const { code, stderr } = await ended;
    expect(stderr).toMatch(
      /Your app ended with exit code 0\.\nA process that your app started still holds the app's output open\./,
    );
    expect([code, await isFree(port), await status()]).toEqual([1, true, ["archived"]]);
  });

  test("ends the command before it listens, although its child holds its output", async () => {
    const { run, status } = await develop("sleep 300 & echo boot failed; exit 1");
    const { code, stdout, stderr } = await run().ended;
    expect(stdout).toContain("boot failed\n");
    expect(stderr).toMatch(/The app ended with exit code 1 before it was listening on port \d+\./);
    expect([code, await status()]).toEqual([1, ["archived"]]);
  });

  test("leaves no child that has no output and ignores SIGTERM", async () => {
    const { awaited, open } = gate();
    const { run, port } = await develop(`${server(deaf)} > /dev/null 2>&1 & ${awaited}; exit 3`);
    const { ended, shows } = run();
    await shows(/Sent a test email/, "stderr");
    open();
    const { code, stderr } = await ended;
    expect(stderr).toContain("Your app ended with exit code 3.\n");
    expect([code, await isFree(port)]).toEqual([1, true]);
  });
});

describePosix("Ctrl-C", () => {
  test("ends a child that has no output and ignores SIGTERM", async () => {
    const { run, port } = await develop(`${server(deaf)} > /dev/null 2>&1 & sleep 1000`);
    const { shows, interrupt } = run();
    await shows(/Sent a test email/, "stderr");
    expect(await interrupt()).toBe(130);
    expect(await isFree(port)).toBe(true);
  });

  testInTerminal("leaves a child in a session of its own, and names its port", async () => {
    const file = newFile();
    const app = server(`appendFileSync(${JSON.stringify(file)}, String(process.pid));`);
    const { run, port } = await develop(`setsid ${app} > /dev/null 2>&1 & sleep 1000`);
    const { shows, interrupt, output } = run();
    await shows(/Sent a test email/, "stderr");
    onTestFinished(() => void process.kill(Number(readFileSync(file, "utf8")), "SIGKILL"));
    expect(await interrupt()).toBe(130);
    expect(output.stderr).toContain(
      `Port ${port} is still in use, probably by a process that your app started in another session.\n`,
    );
  });

  test("pressed again kills the app and archives the endpoint", async () => {
    const { run, port, status } = await develop(`exec ${server(deaf)}`);
    const { shows, interrupt, ended, output } = run();
    await shows(/Sent a test email/, "stderr");
    void interrupt();
    await shows(/Press Ctrl-C again to stop immediately/, "stderr");
    expect(await interrupt()).toBe(130);
    await ended;
    expect(output.stderr).toMatch(/we_\w+ was archived\.\n$/);
    expect([await isFree(port), await status()]).toEqual([true, ["archived"]]);
  });

  test("that arrives twice, as npx passes it on, leaves the app its time", async () => {
    const log = newFile();
    const { file, open } = gate();
    const drain = `appendFileSync(${JSON.stringify(log)}, "drained"); process.exit();`;
    const { run } = await develop(
      `exec ${server(`process.on("SIGTERM", () => ${whenExists(file, drain)});`)}`,
    );
    const { shows, ended, child } = run();
    await shows(/Sent a test email/, "stderr");
    child.kill("SIGINT");
    child.kill("SIGTERM");
    await shows(/Press Ctrl-C again to stop immediately/, "stderr");
    open();
    const { code } = await ended;
    // The order of two signals that arrive together is not defined.
    expect([130, 143]).toContain(code);
    expect(readFileSync(log, "utf8")).toBe("drained");
  });

  testInTerminal("in a terminal sends the app one signal", async () => {
    const log = newFile();
    const { file, open } = gate();
    const { words, env } = await develop(
      `exec ${server(`for (const name of ["SIGINT", "SIGTERM", "SIGHUP"])
        process.on(name, () => {
          appendFileSync(${JSON.stringify(log)}, name + " ");
          ${whenExists(file, "process.exit();")}
        });`)}`,
    );
    const keys = { after: /Sent a test email/, type: "\u0003" };
    const ended = inTerminal(shell(...words), env, keys);
    await until(() => existsSync(log), "the app has a signal");
    open();
    expect([(await ended).code, readFileSync(log, "utf8")]).toEqual([130, "SIGTERM "]);
  });
});

testInTerminal("the app reads from the terminal", async () => {
  const file = newFile();
  const { words, env } = await develop(
    `exec ${server(`process.stdin.setRawMode(true).once("data", (keys) => {
      appendFileSync(${JSON.stringify(file)}, keys);
      process.exit(7);
    });`)}`,
  );
  const { code, output } = await inTerminal(shell(...words), env, {
    after: /Sent a test email/,
    type: "r",
  });
  expect([code, readFileSync(file, "utf8")]).toEqual([1, "r"]);
  expect(output).toContain("Your app ended with exit code 7.");
});

testLinux("Ctrl-Z suspends the app, and fg resumes it", async () => {
  const file = newFile();
  const { run } = await develop(
    `exec ${server(`appendFileSync(${JSON.stringify(file)}, String(process.pid));`)}`,
  );
  const { shows, child, interrupt } = run();
  await shows(/Sent a test email/, "stderr");
  const state = (pid: unknown) =>
    readFileSync(`/proc/${Number(pid)}/stat`, "utf8")
      .split(") ")
      .at(-1)?.[0] ?? "";
  const app = readFileSync(file, "utf8");
  child.kill("SIGTSTP");
  await until(() => state(app) === "T" && state(child.pid) === "T", "both are suspended");
  child.kill("SIGCONT");
  await until(() => state(app) !== "T", "the app is resumed");
  expect(await interrupt()).toBe(130);
});
