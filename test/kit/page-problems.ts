import type { BrowserContext, ConsoleMessage } from "playwright-core";

export interface PageProblems {
  /** The problems so far, in their order, one line each. */
  readonly found: readonly string[];
  /** Resolves when everything that the open pages have reported so far is in `found`. */
  readonly settled: () => Promise<void>;
}

const problemTypes: ReadonlySet<string> = new Set(["error", "warning", "assert"]);

const consoleLine = (message: ConsoleMessage) => {
  const { url, lineNumber } = message.location();
  return `console ${message.type()}: ${message.text()} (${url}:${lineNumber + 1})`;
};

/**
 * Records the problems of pages: errors and warnings in the console, uncaught errors, and requests to another
 * origin. Covers all pages that the context has from then on, including those that its pages open.
 *
 * @param origin that of the pages: `http://127.0.0.1:4010`
 * @param allow lines that match one of these are not recorded
 */
export function watchPages(
  context: BrowserContext,
  origin: string,
  allow: readonly RegExp[] = [],
): PageProblems {
  const found: string[] = [];
  const own = new URL(origin).origin;
  const note = (line: string) => {
    if (!allow.some((pattern) => pattern.test(line))) found.push(line);
  };
  const noteRequest = (url: string) => {
    if (new URL(url).origin.replace(/^ws/, "http") !== own)
      note(`request to another origin: ${url}`);
  };
  context.on("console", (message) => {
    if (problemTypes.has(message.type())) note(consoleLine(message));
  });
  context.on("weberror", (error) => {
    const cause = error.error();
    note(`page error: ${cause.stack ?? cause.message}`);
  });
  context.on("request", (request) => noteRequest(request.url()));
  context.on("page", (page) => {
    page.on("websocket", (socket) => noteRequest(socket.url()));
  });
  return {
    found,
    async settled() {
      // A page's events arrive in their order, before the result of an evaluation that follows them.
      await Promise.allSettled(context.pages().map((page) => page.evaluate(() => 0)));
    },
  };
}
