import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { node, outsideDirectory, root, scope } from "@svc-webhooks/kit/programs";
import { readManifest } from "@svc-webhooks/kit/workspace";

const facade = join(root, "packages/svc-webhooks");
const { version } = readManifest(facade);

/** Installs the facade in an app, without its dependencies. Returns the app's folder and the facade's program. */
function appWithFacade(): { readonly app: string; readonly program: string } {
  const app = outsideDirectory();
  const installed = join(app, "node_modules/svc-webhooks");
  for (const path of ["bin", "package.json"]) {
    cpSync(join(facade, path), join(installed, path), { recursive: true });
  }
  return { app, program: join(installed, "bin/svc-webhooks.cjs") };
}

/** Links the command line of this repository into a folder's packages. */
function linkCli(folder: string): void {
  mkdirSync(join(folder, "node_modules", scope), { recursive: true });
  symlinkSync(join(root, "tools/cli"), join(folder, "node_modules", scope, "cli"), "junction");
}

/** Returns what the program prints for a command if the command line is not installed. */
const missing = (command: string) =>
  `The command line is a package of its own, so that apps do not install it in production. Run

  npx @svc-webhooks/cli@${version}${command}

or install it: npm install --save-dev @svc-webhooks/cli@${version}
`;

test.each([
  { args: "dev -- node app.mjs".split(" "), command: " dev -- node app.mjs" },
  { args: [], command: "" },
  { args: ["verify", "a b", "it's"], command: String.raw` verify 'a b' 'it'\''s'` },
])("names the command that installs the command line: $args", async ({ args, command }) => {
  const { app, program } = appWithFacade();
  expect(await node([program, ...args], { cwd: app })).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: missing(command),
  });
});

test("runs the command line that the app has installed, with its arguments and its exit code", async () => {
  const { app, program } = appWithFacade();
  linkCli(app);
  const cwd = join(app, "src");
  mkdirSync(cwd);
  expect(await node([program, "--version"], { cwd })).toMatchObject({
    exitCode: 0,
    stdout: `${version}\n`,
  });
  const wrong = await node([program, "verfy"], { cwd });
  expect(wrong.stderr).toContain("verify");
  expect(wrong.exitCode).toBe(2);
});

test("runs the command line that is installed next to it, from any folder", async () => {
  const { app, program } = appWithFacade();
  linkCli(app);
  const { exitCode, stdout } = await node([program, "--version"], { cwd: outsideDirectory() });
  expect([exitCode, stdout]).toEqual([0, `${version}\n`]);
});

test("reports a command line that is installed but broken", async () => {
  const { app, program } = appWithFacade();
  const cli = join(app, "node_modules", scope, "cli");
  mkdirSync(cli, { recursive: true });
  cpSync(join(root, "tools/cli/package.json"), join(cli, "package.json"));
  const { exitCode, stderr } = await node([program, "--version"], { cwd: app });
  expect(stderr).toContain("ERR_MODULE_NOT_FOUND");
  expect(exitCode).toBe(1);
});
