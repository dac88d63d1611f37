import { eventsOfSend, mailPart, type sendDetail } from "../../../read/queries.js";
import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import { Bytes } from "../parts/bytes.js";
import { Code, Icon, Text, Time } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { Countdown } from "../parts/track.js";
import { Id, Ids, ItemLink, stepsOf, Trail } from "../parts/trail.js";

type Send = ReturnType<typeof sendDetail>;

interface SendProps {
  readonly view: View;
  readonly send: Send;
}

/** An email and its history. */
export const SendDetail = ({ view, send }: SendProps) => (
  <>
    <Piece id="about" class="about" data={[send.history, send.next, eventsOf(view, send)]}>
      <Trail view={view} steps={[...stepsOf(view, send.call_id, undefined), { text: "email" }]} />
      <h2 id="h-detail">
        <Text of={send.subject} />
      </h2>
      <Ids>
        <Id of={send.id} name="Send" />
        <Id of={send.email_id} name="Email" />
        <Id of={send.message_id} name="Message" />
      </Ids>
      <History view={view} send={send} />
      <ul class="plain">
        {eventsOf(view, send).map(({ id, type }) => (
          <li>
            Raised <ItemLink view={view} id={id} of={type} />
          </li>
        ))}
      </ul>
    </Piece>
    <Mail view={view} send={send} />
  </>
);

const eventsOf = ({ service }: View, { id, call_id: callId }: Send) =>
  eventsOfSend(service, id, callId);

const History = ({ view, send: { history, next } }: SendProps) => (
  <table class="hdr" aria-label="History of the send">
    <tbody>
      {history.map(({ at, status, note }) => (
        <tr>
          <th scope="row">
            <Time at={at} />
          </th>
          <td>{note === undefined ? status : <Text of={note} />}</td>
        </tr>
      ))}
      {next.map(({ at, status }) => (
        <tr>
          <th scope="row">
            <Time at={at} />
          </th>
          <td class="wait">
            <Icon of="wait" /> {status}, in <Countdown view={view} at={at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** An email. The frame with its HTML cannot run scripts, use the network or follow links. Links are listed as text. */
export const Mail = ({ view, send }: SendProps) => {
  const { from, to, html, text, id } = send;
  const links = linksOf(view, send);
  return (
    <Piece id="email" data={[id, view.state.full]} labelledby="h-email">
      <h3 id="h-email">Email</h3>
      <dl class="kv">
        {Object.entries({ From: from, To: to.join(", "), Subject: send.subject }).map(
          ([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>
                <Text of={value} />
              </dd>
            </>
          ),
        )}
      </dl>
      {html && (
        <iframe
          sandbox=""
          src={`/_sandbox/sends/${id}/html`}
          title="HTML of the email, isolated"
          loading="lazy"
        />
      )}
      {links.length > 0 && (
        <details id="links">
          <summary>Links in the HTML: {links.length}</summary>
          <ul class="plain">
            {links.map((link) => (
              <li>
                <Code of={link} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {text && (
        <Bytes
          body={text}
          label="Text of the email"
          all={href(view.state, { full: "true" }, "email")}
          from={`sends/${id}`}
          place="text"
        />
      )}
    </Piece>
  );
};

const mostLinks = 50;

/**
 * Returns the first {@link mostLinks} different `href` values in the first 262,144 characters of an email's HTML. They
 * are shown as text, because the frame does not follow links.
 */
function linksOf({ service }: View, { id, html: part }: Send): readonly string[] {
  const html = part ? mailPart(service, id, "html").slice(0, 262_144) : "";
  const matches = html.matchAll(
    /\shref\s*=\s*(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^\s"'>]{1,2000}))/gi,
  );
  const links = new Set<string>();
  for (const [, double, single, bare] of matches) {
    links.add(double ?? single ?? bare ?? "");
    if (links.size === mostLinks) break;
  }
  return Array.from(links);
}
