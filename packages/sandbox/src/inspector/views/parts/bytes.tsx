import type { BodyShape } from "../../../read/body.js";
import { amount } from "../../words.js";
import { Text } from "./elements.js";

type Headers = readonly (readonly [string, string])[];

interface MessageProps {
  /** Its name in the labels: `response`. */
  readonly of: string;
  readonly headers: Headers;
  readonly body: BodyShape | undefined;
  readonly all: string;
}

/** The headers of a request or a response, and its body. */
export const Message = ({ of, headers, body, all }: MessageProps) => (
  <>
    <HeaderTable headers={headers} label={`Headers of the ${of}`} />
    {body && <Bytes body={body} label={`Body of the ${of}`} all={all} />}
  </>
);

const HeaderTable = ({ headers, label }: { headers: Headers; label: string }) => (
  <table class="hdr" aria-label={label}>
    <tbody>
      {headers.map(([name, value]) => (
        <tr>
          <th scope="row">
            <Text of={name} />
          </th>
          <td>
            <Text of={value} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

interface BytesProps {
  readonly body: BodyShape;
  readonly label: string;
  /** The address of the page with all bytes that are kept. */
  readonly all: string;
}

/** Bytes as text if they are UTF-8, else in hexadecimal. */
export const Bytes = ({ body, label, all }: BytesProps) => (
  <>
    {body.bytes === 0 ? (
      <p class="sub">No body.</p>
    ) : (
      <pre class="body" tabindex={0} role="region" aria-label={label}>
        {body.text === undefined ? hexOf(body.base64 ?? "") : <Text of={body.text} lines />}
      </pre>
    )}
    {body.truncated && (
      <p class="sub">
        {amount(body.shown)} of {amount(body.bytes)} bytes are shown.{" "}
        <a href={all}>Show all that are kept</a>
      </p>
    )}
  </>
);

const perLine = 16;

/** `00000000  7b 22 …  {"…`, sixteen bytes a line. */
function hexOf(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += perLine) {
    const part = Array.from(bytes.subarray(at, at + perLine));
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."));
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(perLine * 3)} ${text.join("")}`);
  }
  return lines.join("\n");
}
