import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, json } from "node:stream/consumers";
import { root, run } from "./programs.js";

/** A package's document in a registry, with the members that this file reads. */
export interface Packument {
  readonly "dist-tags": Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, unknown>>;
}

interface Publication extends Packument {
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

export interface Registry {
  /** The base URL, with a slash at its end. */
  readonly url: string;
  readonly packuments: ReadonlyMap<string, Packument>;
  close(): void;
}

/** Returns the path of a tarball. npm publishes it with the scope also after `/-/`, where Yarn 4 omits it. */
const pathOf = (path: string): string => path.replace(/\/-\/@[^/]+\//, "/-/");

/**
 * Serves the packages that are published to it, and passes all other requests to the registry for which npm is
 * configured. As in a public registry, a version cannot be published twice.
 */
export async function startRegistry(): Promise<Registry> {
  const { stdout } = await run("npm", ["config", "get", "registry"], { cwd: root });
  const upstream = stdout.trim();
  const packuments = new Map<string, Packument>();
  const tarballs = new Map<string, Buffer>();

  async function publish(name: string, request: IncomingMessage): Promise<number> {
    const { _attachments, ...added } = (await json(request)) as Publication;
    const { versions, "dist-tags": tags } = packuments.get(name) ?? {
      versions: {},
      "dist-tags": {},
    };
    if (Object.keys(added.versions).some((version) => version in versions)) return 409;
    packuments.set(name, {
      ...added,
      versions: { ...versions, ...added.versions },
      "dist-tags": { ...tags, ...added["dist-tags"] },
    });
    for (const [file, { data }] of Object.entries(_attachments)) {
      tarballs.set(pathOf(`${name}/-/${file}`), Buffer.from(data, "base64"));
    }
    return 201;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent(String(request.url).slice(1));
    if (request.method === "PUT") {
      response.writeHead(await publish(path, request)).end("{}");
      return;
    }
    const tarball = tarballs.get(pathOf(path));
    const packument = packuments.get(path);
    if (tarball ?? packument) {
      response.end(tarball ?? JSON.stringify(packument));
      return;
    }
    const { method = "GET", headers } = request;
    const passed = await fetch(upstream + String(request.url).slice(1), {
      method,
      headers: { accept: headers.accept ?? "*/*", "content-type": headers["content-type"] ?? "" },
      body: method === "POST" ? await buffer(request) : null,
    });
    const type = passed.headers.get("content-type") ?? "application/octet-stream";
    // The body may break off, which is reported with a status of its own.
    const content = Buffer.from(await passed.arrayBuffer());
    response.writeHead(passed.status, { "content-type": type }).end(content);
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) =>
      response.writeHead(502).end(String(error)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    packuments,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
