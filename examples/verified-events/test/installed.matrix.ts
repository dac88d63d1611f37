import { cpSync } from "node:fs";
import { join } from "node:path";
import { npm } from "@svc-webhooks/kit/npm";
import { outputOf, outsideDirectory } from "@svc-webhooks/kit/programs";
import { tarballsOf } from "@svc-webhooks/kit/tarballs";
import { here, testPrograms } from "./cases.js";
import { bolt } from "./senders/bolt.js";
import { clerk } from "./senders/clerk.js";
import { pubsub } from "./senders/pubsub.js";
import { twilio } from "./senders/twilio.js";

/** The programs whose packages the workspace lacks. */
const programs = [bolt, clerk, pubsub, twilio];

/** Copies the example to a folder outside of the workspace, with its packages and those of the programs. */
async function installed(): Promise<string> {
  const folder = outsideDirectory();
  for (const name of ["effect.mjs", "store.mjs", ...programs.map((one) => one.folder)]) {
    cpSync(join(here, name), join(folder, name), { recursive: true });
  }
  const packages = programs.flatMap((one) => one.packages ?? []);
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
  const all = ["ioredis@6.0.0", ...packages, ...(await tarballsOf(["svc-webhooks"]))];
  outputOf(await npm(["install", ...options, ...all], { cwd: folder }));
  return folder;
}

testPrograms(programs, installed);
