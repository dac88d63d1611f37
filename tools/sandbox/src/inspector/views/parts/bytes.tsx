import type { BodyShape } from "../../../read/body.js";
import { amount } from "../../words.js";
import { indentJson } from "../../../lib/indent-json.js";
import { CopyBody, Text } from "./elements.js";

type Headers = readonly (readonly [string, string])[];

interface MessageProps {
  /** The message's name in labels, such as `response`. */
  readonly of: string;
  readonly headers: Headers;
  readonly body: BodyShape | undefined;
  readonly all: string;
  /** The control route that returns the message. */
  readonly from: string;
}

/** The body and the headers of a request or a response. */
export const Message = ({ of, headers, body, all, from }: MessageProps) => (
  <>
    {body && (
      <Bytes body={body} label={`Body of the ${of}`} all={all} from={from} place={`${of}.body`} />
    )}
    <HeaderTable headers={headers} label={`Headers of the ${of}`} />
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
  /** The control route that returns the bytes. `place` is the path of the bytes in the route's JSON. */
  readonly from: string;
  readonly place: string;
}

/** Shows bytes as text if they are UTF-8, otherwise in hexadecimal. */
export const Bytes = ({ body, label, all, from, place }: BytesProps) => (
  <>
    <div class="head body-head">
      <span class="note">{body.bytes === 0 ? "No body." : label}</span>
      {body.bytes > 0 && body.text !== undefined && (
        <CopyBody of={label.toLowerCase()} from={`/_sandbox/${from}?full=true`} place={place} />
      )}
    </div>
    {body.bytes > 0 && (
      <pre class="body" tabindex={0} role="region" aria-label={label}>
        {body.text === undefined ? hexOf(body.base64 ?? "") : <Text of={body.text} lines />}
      </pre>
    )}
    {body.text !== undefined && !body.truncated && <Indented of={body.text} label={label} />}
    {body.truncated && (
      <p class="sub">
        {amount(body.shown)} of {amount(body.bytes)} bytes are shown.{" "}
        <a href={all}>Show all stored bytes</a>
      </p>
    )}
  </>
);

/**
 * A JSON body with a line for each member. Renders nothing if the body already has this form, or is not a JSON object
 * or array. If the result would be too long, renders a note instead.
 */
const Indented = ({ of, label }: { of: string; label: string }) => {
  const indented = indentJson(of);
  if (indented === "too_long")
    return (
      <p class="sub">
        This body is nested too deeply for an indented view. It is shown as it was sent.
      </p>
    );
  if (indented === undefined || indented.text === of) return null;
  return (
    <details id={label.toLowerCase().replaceAll(" ", "-")} class="fold">
      <summary>Indented</summary>
      <pre class="body" tabindex={0} role="region" aria-label={`${label}, indented`}>
        <Text of={indented.text} lines />
      </pre>
    </details>
  );
};

const perLine = 16;

/** Formats bytes as `00000000 7b 22 … {"…`, sixteen to a line. */
function hexOf(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += perLine) {
    const part = Array.from(bytes.subarray(offset, offset + perLine));
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."));
    lines.push(
      `${offset.toString(16).padStart(8, "0")}  ${hex.padEnd(perLine * 3)} ${text.join("")}`,
    );
  }
  return lines.join("\n");
}
