import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { collected } from "./collected.js";
import { environment, spawned, type Served } from "./launch.js";

/** Returns the command line of the Next.js that an app uses. */
const next = (command: string, folder: string) => {
  const bin = createRequire(`${folder}/`).resolve("next/dist/bin/next");
  return [process.execPath, bin, command, folder] as const;
};

const anyPort = ["--hostname", "127.0.0.1", "--port", "0"];

/** Builds an app for production and serves it. No secret is set, as on a build machine. */
export async function nextStart(folder: string): Promise<Served> {
  const [command, ...args] = next("build", folder);
  const build = spawn(command, [...args, "--turbopack"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...environment(), SVC_WEBHOOK_SECRET: undefined },
  });
  const output = collected(build.stdout, build.stderr);
  const [code] = await once(build, "close");
  if (code !== 0) throw new Error(`next build failed:\n${output()}`);
  return spawned(...next("start", folder), ...anyPort);
}

/** Serves an app in development mode. */
export const nextDev = (folder: string): Promise<Served> =>
  spawned(...next("dev", folder), ...anyPort);
