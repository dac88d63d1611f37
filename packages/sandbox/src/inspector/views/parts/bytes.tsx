import type { BodyShape } from "../../../read/body.js";
import { amount } from "../../words.js";
import { indentJson } from "../../../lib/indent-json.js";
import { Text } from "./elements.js";

type Headers = readonly (readonly [string, string])[];

interface MessageProps {
  /** The message's name in the labels: `response`. */
  readonly of: string;
  readonly headers: Headers;
  readonly body: BodyShape | undefined;
  readonly all: string;
}

/** The headers and the body of a request or a response. */
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
  /** The URL of the page with all stored bytes. */
  readonly all: string;
}

/** Shows bytes as text if they are UTF-8, otherwise in hexadecimal. */
export const Bytes = ({ body, label, all }: BytesProps) => (
  <>
    {body.bytes === 0 ? (
      <p class="sub">No body.</p>
    ) : (
      <pre class="body" tabindex={0} role="region" aria-label={label}>
        {body.text === undefined ? hexOf(body.base64 ?? "") : <Text of={body.text} lines />}
      </pre>
    )}
    {body.text !== undefined && !body.truncated && <Indented of={body.text} label={label} />}
    {body.truncated && (
      <p class="sub">
        {amount(body.shown)} of {amount(body.bytes)} bytes are shown.{" "}
        <a href={all}>Show all that are kept</a>
      </p>
    )}
  </>
);

/** JSON with a line for each member, unless it is shown like that already. */
const Indented = ({ of, label }: { of: string; label: string }) => {
  const indented = indentJson(of);
  if (indented === undefined || indented === of) return null;
  return (
    <details id={label.toLowerCase().replaceAll(" ", "-")} class="fold">
      <summary>Indented</summary>
      <pre class="body" tabindex={0} role="region" aria-label={`${label}, indented`}>
        <Text of={indented} lines />
      </pre>
    </details>
  );
};

const perLine = 16;

/** Formats bytes as `00000000 7b 22 … {"…`, sixteen to a line. */
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
