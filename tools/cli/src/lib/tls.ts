/**
 * Matches the codes of TLS errors. Codes about certificates, such as INVALID_PURPOSE, have no prefix. The pattern
 * excludes other codes of the operating system, such as ECONNRESET, and of Node, such as those that begin with HPE_.
 */
const codes =
  /^(?:ERR_(?:SSL|TLS)_|EPROTO$|(?!E[A-Z]+$|(?:ABORT|EAI|ERR|HPE|UND)_)[A-Z]+(?:_[A-Z]+)*$)/;

/**
 * Resolves to an error whose message explains why a connection failed, or to the error itself if there is no
 * explanation. If an `http:` connection was closed without a response, the explanation names TLS only as a possible
 * cause, because a server that crashes also closes its connections.
 */
export async function explainConnection(error: unknown, url: URL): Promise<unknown> {
  if (!(error instanceof Error) || url.protocol !== "http:" || error.message !== "socket hang up")
    return explainTls(error, url);
  return new ConnectionError(maybeTls, "ECONNRESET", error);
}

/** Returns whether an error's code, or a message that contains the code, means that no connection was established. */
export const isUnreachable = (text: string): boolean =>
  /\b(?:ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b/.test(text);

const maybeTls =
  "The connection was closed without a response. If this port serves HTTPS, use an https: URL.";

/** Resolves to an error whose message explains why TLS failed, or to the error itself if it has another cause. */
export async function explainTls(error: unknown, { hostname }: URL): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  // A server without TLS may hang up. If it responds in plain text instead, Node reports a code that `codes` matches.
  if (code === "ECONNRESET" && error.message.includes("before secure TLS connection"))
    return new ConnectionError(hungUp, code, error);
  if (!codes.test(code)) return error;
  // Imports the sandbox only after a TLS error, because loading it takes long.
  const { tlsText } = await import("@svc-webhooks/sandbox/command");
  return new ConnectionError(tlsText(error, hostname, "start this command"), code, error);
}

const hungUp =
  "The connection was closed during the TLS handshake. If this port does not use TLS, use an http: URL, or the port that serves HTTPS.";

/** The error of a failed connection. Its message states the reason and the fix, in whole sentences. */
export class ConnectionError extends Error {
  readonly code: string;

  constructor(message: string, code: string, cause: Error) {
    super(message, { cause });
    this.code = code;
  }
}
