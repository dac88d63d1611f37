#!/usr/bin/env node
"use strict";
/*
 * `npx svc-webhooks` runs the command line if it is installed next to the app or next to this package, in this process.
 * Otherwise, it prints the command that installs it. It downloads nothing.
 */
const { createRequire } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { version } = require("../package.json");

/** Returns the path of the manifest of the installed command line, or undefined. */
function findCli() {
  for (const from of [() => path.join(process.cwd(), "app.js"), () => __filename]) {
    try {
      return createRequire(from()).resolve("@svc-webhooks/cli/package.json");
    } catch {
      // It is not there, the installation is broken, or the working directory is gone.
    }
  }
}

/** Quotes an argument for a POSIX shell if it needs that. */
const quoted = (arg) =>
  /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`;

const manifest = findCli();
if (manifest === undefined) {
  const command = ["npx", `@svc-webhooks/cli@${version}`, ...process.argv.slice(2).map(quoted)];
  const isPacked = version.startsWith("0.0.0-g");
  const install = isPacked
    ? "Install it from the clone of this package: npm run pack -- cli"
    : `Run

  ${command.join(" ")}

or install it: npm install --save-dev @svc-webhooks/cli@${version}`;
  process.stderr.write(
    `The command line is a package of its own, so that apps do not install it in production. ${install}\n`,
  );
  process.exitCode = 1;
} else {
  const program = path.join(path.dirname(manifest), require(manifest).bin["svc-webhooks"]);
  void import(pathToFileURL(program).href);
}
