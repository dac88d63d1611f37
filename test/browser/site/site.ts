import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { oncePerRun } from "@svc-webhooks/kit/once-per-run";
import { node, root } from "@svc-webhooks/kit/programs";
import { listen } from "@svc-webhooks/kit/servers";
import { isFull } from "@svc-webhooks/kit/sized";

const folder = join(root, "site");

async function start(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { exitCode, stdout, stderr } = await node([script, ...args], { cwd: folder, env });
  if (exitCode !== 0) throw new Error(`The site could not be built.\n${stdout}${stderr}`);
}

const build = (base: string) => (output: string) =>
  start(join(root, "node_modules/vitepress/bin/vitepress.js"), ["build", "--outDir", output], {
    DOCS_BASE: base,
  });

/** Builds the site once per run of the tests as `npm run docs` does, and returns the folder of the result. */
export const builtSite = (): Promise<string> =>
  oncePerRun("site", async (output) => {
    await start(join(folder, "node_modules/typedoc/bin/typedoc"), []);
    await build("/")(output);
  });

/** Builds it again for a path below the root of a host, such as `/svc-webhooks/`. */
export async function builtBelow(base: string): Promise<string> {
  await builtSite();
  return oncePerRun(`site-below${base.replaceAll("/", "-")}`, build(base));
}

/** Returns the file that a host with clean addresses serves for a path, or undefined if there is none. */
export function fileAt(site: string, path: string): string | undefined {
  const candidates = path.endsWith("/") ? [`${path}index.html`] : [path, `${path}.html`];
  return candidates
    .map((file) => join(site, decodeURI(file)))
    .find((file) => existsSync(file) && statSync(file).isFile());
}

/** Returns the paths of the built pages: `docs/why.html`. */
export const pagesIn = (site: string): readonly string[] =>
  readdirSync(site, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));

/**
 * Returns the paths of the built pages, of which those of one sender stand for all pairs of a sender and a framework,
 * unless the suites have their full size.
 */
export const samplesIn = (site: string): readonly string[] =>
  pagesIn(site).filter((file) => isFull || !/^senders\/(?!stripe\/)/.test(file));

const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".md": "text/markdown; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webp": "image/webp",
};

export interface Served {
  readonly origin: string;
  /** The responses so far: each path with the number of bytes that were sent for it. */
  readonly responses: readonly { readonly path: string; readonly bytes: number }[];
}

const compressed = new Map<string, Buffer>();

/** Returns a file as a response with gzip. */
function gzipped(file: string): Buffer {
  const body = compressed.get(file) ?? gzipSync(readFileSync(file));
  compressed.set(file, body);
  return body;
}

/** Serves the built site until the test ends, compressed. */
export async function serveSite(): Promise<Served> {
  const site = await builtSite();
  const responses: { path: string; bytes: number }[] = [];
  const port = await listen(({ url = "/" }, response) => {
    const path = new URL(url, "http://site").pathname;
    const found = fileAt(site, path);
    const file = found ?? join(site, "404.html");
    const type = extname(file);
    // Pictures are compressed already.
    const body = type === ".webp" ? readFileSync(file) : gzipped(file);
    responses.push({ path, bytes: body.length });
    response.writeHead(found === undefined ? 404 : 200, {
      "content-type": types[type] ?? "application/octet-stream",
      ...(type !== ".webp" && { "content-encoding": "gzip" }),
    });
    response.end(body);
  });
  return { origin: `http://127.0.0.1:${port}`, responses };
}
