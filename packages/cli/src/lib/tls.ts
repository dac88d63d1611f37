/**
 * Matches the codes of TLS. Those of certificates, such as INVALID_PURPOSE, are words: the codes of the operating
 * system have none, and those of Node's other parts begin with their name.
 */
const codes =
  /^(?:ERR_(?:SSL|TLS)_|EPROTO$|(?!E[A-Z]+$|(?:ABORT|EAI|ERR|HPE|UND)_)[A-Z]+(?:_[A-Z]+)*$)/;

/**
 * Returns an error whose message explains why a connection ended without a response, or the error itself if it has
 * another cause. A server that uses TLS hangs up on a request in plain text, but so does one that crashes.
 */
export async function explainConnection(error: unknown, url: URL): Promise<unknown> {
  if (!(error instanceof Error) || url.protocol !== "http:" || error.message !== "socket hang up")
    return explainTls(error, url);
  return new ConnectionError(maybeTls, "ECONNRESET", error);
}

/** Returns whether a connection was not established. @param text the error's code, or its message, which contains it */
export const isUnreachable = (text: string): boolean =>
  /\b(?:ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b/.test(text);

const maybeTls =
  "The connection was closed without a response. If this port serves HTTPS, use an https: URL.";

/** Returns an error whose message explains why a TLS connection failed, or the error itself if it has another cause. */
export async function explainTls(error: unknown, { hostname }: URL): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  // A server without TLS either responds in plain text, which Node reports with a code of OpenSSL, or hangs up.
  if (code === "ECONNRESET" && error.message.includes("before secure TLS connection"))
    return new ConnectionError(hungUp, code, error);
  if (!codes.test(code)) return error;
  // The sandbox takes long to load, and few requests fail.
  const { tlsText } = await import("@svc-webhooks/sandbox/command");
  return new ConnectionError(tlsText(error, hostname, "start this command"), code, error);
}

const hungUp =
  "The connection was closed during the TLS handshake. If the receiver does not use TLS on this port, use an http: URL, or the port on which it serves HTTPS.";

/** A connection failed. The message states why, and how to fix it, in whole sentences. */
export class ConnectionError extends Error {
  readonly code: string;

  constructor(message: string, code: string, cause: Error) {
    super(message, { cause });
    this.code = code;
  }
}
