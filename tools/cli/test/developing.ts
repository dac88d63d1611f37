import { writeFileSync } from "node:fs";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { newFile, start } from "./support.js";

const node = process.execPath;

/** A server that responds with 200 to everything, as a program that a shell can start. */
export function server(before = "", listen = "server.listen(process.env.PORT)"): string {
  const file = newFile("server.mjs");
  writeFileSync(
    file,
    `import { createServer } from "node:http";
    import { appendFileSync, existsSync } from "node:fs";
    ${before}
    const server = createServer((request, response) => request.resume().on("end", () => response.end()));
    ${listen};`,
  );
  return `'${node}' '${file}'`;
}

/** Runs a shell command line as the app of \`dev\`, on a free port. */
export async function develop(commandLine: string, options: readonly string[] = []) {
  const { url: service } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const to = `http://localhost:${port}/webhooks`;
  const words = ["dev", "--to", to, ...options, "--", "sh", "-c", commandLine];
  const env = { SVC_BASE_URL: service, PORT: undefined };
  const status = async () => {
    const response = await fetch(`${service}/_sandbox/endpoints`);
    const { data } = (await response.json()) as { readonly data: readonly { status: string }[] };
    return data.map((one) => one.status);
  };
  return { words, env, port, status, run: () => start(words, env) };
}
