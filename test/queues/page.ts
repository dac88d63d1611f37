import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";

/** The header with which a request passes the check of the tests. */
const operator = { authorization: "an operator" };

export const isOperator = (authorization: string | null | undefined): boolean =>
  authorization === operator.authorization;

interface Shown {
  readonly status: number;
  readonly text: string;
}

/** A page that operators open. */
export interface Page {
  /** Requests a path as an operator, after a request without the check has been refused. */
  readonly open: (path: string, init?: RequestInit) => Promise<Shown>;
  /** Returns the paths of the scripts, styles and images that a document loads from its own server. */
  readonly filesOf: (path: string, document: string) => readonly string[];
}

/** Serves a page until the test ends. */
export async function served(listener: RequestListener): Promise<Page> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    async open(path, init = {}) {
      const refused = await fetch(origin + path, init);
      expect([path, refused.status, await refused.text()]).toEqual([path, 403, "Forbidden"]);
      const headers = { ...(init.headers as Record<string, string>), ...operator };
      const response = await fetch(origin + path, { ...init, headers });
      return { status: response.status, text: await response.text() };
    },
    filesOf(path, document) {
      const [, base = path] = /<base href="([^"]+)"/.exec(document) ?? [];
      const tags = document.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"/g);
      const urls = Array.from(tags, ([, target = ""]) => new URL(target, origin + base));
      return urls.filter((url) => url.origin === origin).map(({ pathname }) => pathname);
    },
  };
}
