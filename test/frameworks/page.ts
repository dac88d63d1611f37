import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Server, type AddressInfo } from "node:net";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { onTestFinished, vi } from "vitest";
import { isPackage } from "../../tools/build/is-package.js";
import { codeBlocks } from "../package/readme.js";

/**
 * The folder of the pages' code: Git-ignored, and inside the workspace, so that it finds the root's packages.
 */
export const buildFolder = fileURLToPath(new URL(".build", import.meta.url));

/** Returns a block of code of a framework's page. */
export function codeOf(framework: string, position = 1): string {
  const page = `docs/frameworks/${framework}.md`;
  const code = codeBlocks(page)[position - 1]?.code;
  if (code === undefined) throw new Error(`${page} has no block ${position}.`);
  return code;
}

/** Writes code as a module that Node can import, and returns its path. */
export async function moduleOf(name: string, code: string): Promise<string> {
  mkdirSync(buildFolder, { recursive: true });
  const input = `${buildFolder}/${name}.ts`;
  writeFileSync(input, code);
  const bundle = await rolldown({
    input,
    external: isPackage,
    platform: "node",
    transform: { decorator: { legacy: true } },
  });
  const file = `${buildFolder}/${basename(name)}.mjs`;
  await bundle.write({ file });
  return file;
}

/**
 * The source of a module that runs before the code of a page: it makes every server listen on a free local
 * port, which it prints.
 */
export const preload = `
import { Server } from "node:net";
const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once("listening", () => console.log(this.address().port));
  return listen.call(this, 0, "127.0.0.1", args.find((arg) => typeof arg === "function"));
};
`;

/** Resolves to the origin of a server, which is closed when the test ends. */
export async function originOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, "listening");
  onTestFinished(() => {
    server.close();
    if ("closeAllConnections" in server)
      (server as { closeAllConnections(): void }).closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs work that starts a server, which listens on a free port instead of its own. Resolves to its origin. */
export async function originWhile(work: () => Promise<unknown>): Promise<string> {
  const servers: Server[] = [];
  const { listen } = Server.prototype as { listen: (...args: readonly unknown[]) => Server };
  const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (
    this: Server,
    ...args: readonly unknown[]
  ) {
    servers.push(this);
    return listen.call(
      this,
      0,
      "127.0.0.1",
      args.find((arg) => typeof arg === "function"),
    );
  });
  onTestFinished(() => spy.mockRestore());
  await work();
  const [origin = ""] = await Promise.all(servers.map(originOf));
  return origin;
}
