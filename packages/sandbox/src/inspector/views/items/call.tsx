import type { callDetail } from "../../../read/queries.js";
import { href, itemHref } from "../../page-state.js";
import type { View } from "../../view.js";
import { amount, count, durationText } from "../../words.js";
import { Bytes, HeaderTable } from "../parts/bytes.js";
import { Icon, Sentence, Text, Time } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { CallResult } from "../timeline/call-row.js";
import { Id, Ids } from "../parts/trail.js";

interface CallProps {
  readonly view: View;
  readonly call: ReturnType<typeof callDetail>;
}

/** A request to the interface, and its response. */
export const CallDetail = ({ view, call }: CallProps) => {
  const { request, response, send, events, notes } = call;
  const all = href(view.state, { full: "true" }, "detail");
  return (
    <>
      <Piece id="about" class="about" data={call}>
        <h2 id="h-detail">
          <Text of={`${call.method} ${call.path}`} /> <CallResult call={call} />
        </h2>
        <Ids>
          <Id of={call.id} name="Call" />
          <span>
            <Time at={call.at} />
          </span>
          <span>{durationText(call.ms)}</span>
        </Ids>
        {call.lost && <p class="sub">A fault left this call without a response.</p>}
        {notes?.map((note) => (
          <p class="sub">
            <Icon of="warn" class="wait" /> <Sentence of={note} />
          </p>
        ))}
        <ul class="plain">
          {send && (
            <li>
              Accepted the email{" "}
              <a href={itemHref(view.state, send.id)}>
                <Text of={send.subject} />
              </a>
            </li>
          )}
          {events.map((event) => (
            <li>
              Raised{" "}
              <a href={itemHref(view.state, event.id)}>
                <Text of={event.type} />
              </a>
              , {count(event.deliveries.length, "delivery", "deliveries")}
            </li>
          ))}
          {!send && events.length === 0 && <li>It caused nothing.</li>}
        </ul>
      </Piece>
      <Piece id="response" data={[response, all]} labelledby="h-response">
        <div class="head">
          <h3 id="h-response">Response of the sandbox</h3>
          {response && <span class="note">{amount(response.body.bytes)} bytes</span>}
        </div>
        {response ? (
          <>
            <HeaderTable headers={response.headers} label="Headers of the response" />
            <Bytes body={response.body} label="Body of the response" all={all} />
          </>
        ) : (
          <p class="sub">It is not stored.</p>
        )}
      </Piece>
      <Piece id="request" data={[request, all]} labelledby="h-request">
        <div class="head">
          <h3 id="h-request">Request that came in</h3>
          {request.body && <span class="note">{amount(request.body.bytes)} bytes</span>}
        </div>
        <HeaderTable headers={request.headers} label="Headers of the request" />
        {request.body && <Bytes body={request.body} label="Body of the request" all={all} />}
      </Piece>
    </>
  );
};
