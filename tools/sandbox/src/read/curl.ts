import { conflict } from "../errors.js";
import type { HeaderList } from "../network/transport.js";
import { strictText } from "./body.js";

export interface CurlRequest {
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/**
 * The maximum size of a body that is passed as an argument, in bytes. Linux limits one argument to 128 KiB
 * (`MAX_ARG_STRLEN`). A larger body is piped from `printf`, which is built into the shell and has no such limit.
 */
const longestArgument = 100_000;

/**
 * Returns a curl command that sends these headers and exactly these bytes, quoted for a POSIX shell.
 *
 * @throws ApiError 409 for a header that contains a NUL, or a line break, which curl would send as two headers
 */
export function curlCommand({ url, headers, body }: CurlRequest): string {
  // `Accept:` and `Expect:` stop curl from adding its own headers of these names.
  const options = headers.map(([name, value]) => header(name, value)).concat("Accept:", "Expect:");
  const text = strictText(body);
  const isPlain =
    text !== undefined && body.length <= longestArgument && !/[^\P{Cc}\t\n]/u.test(text);
  const data = isPlain ? quoted(text) : "@-";
  const lines = [
    `curl -i -g --noproxy '*' -X POST ${quoted(url)}`,
    ...options.map((option) => `-H ${quoted(option)}`),
    `${isPlain ? "--data-raw" : "--data-binary"} ${data}`,
  ];
  const base64 = `printf %s ${quoted(Buffer.from(body).toString("base64"))} | base64 -d | `;
  return `${isPlain ? "" : base64}${lines.join(" \\\n  ")}\n`;
}

/**
 * Formats a header for curl. An empty header ends in a semicolon, because curl would remove a header that ends in a
 * colon.
 */
function header(name: string, value: string): string {
  if (/[\r\n\0]/.test(name + value)) {
    throw conflict("A header contains a line break, so there is no curl command for this attempt.");
  }
  return value === "" ? `${name};` : `${name}: ${value}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
