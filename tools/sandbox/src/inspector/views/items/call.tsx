import type { callDetail } from "../../../read/queries.js";
import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import { amount, count, durationText } from "../../words.js";
import { Message } from "../parts/bytes.js";
import { Icon, Sentence, Text, Time } from "../parts/elements.js";
import { Part, Piece } from "../parts/piece.js";
import { CallResult } from "../timeline/call-row.js";
import { Id, Ids, ItemLink } from "../parts/trail.js";

type Call = ReturnType<typeof callDetail>;

/** A call: its effects, its response and its request. */
export const CallDetail = ({ view, call }: { view: View; call: Call }) => {
  const { request, response, send, events, notes } = call;
  const all = href(view.state, { full: "true" }, "detail");
  const from = `calls/${call.id}`;
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
        {call.lost && <p class="sub">An injected fault suppressed the response to this call.</p>}
        {notes?.map((note) => (
          <p class="sub">
            <Icon of="warn" class="wait" /> <Sentence of={note} />
          </p>
        ))}
        <ul class="plain">
          {send && (
            <li>
              Accepted the email <ItemLink view={view} id={send.id} of={send.subject} />
            </li>
          )}
          {events.map((event) => (
            <li>
              Raised <ItemLink view={view} id={event.id} of={event.type} />,{" "}
              {count(event.deliveries.length, "delivery", "deliveries")}
            </li>
          ))}
          {!send && events.length === 0 && <li>The call sent no email and raised no event.</li>}
        </ul>
      </Piece>
      <Part
        id="response"
        data={[response, all]}
        title="The sandbox's response"
        note={response && `${amount(response.body.bytes)} bytes`}
      >
        {response ? (
          <Message of="response" {...response} all={all} from={from} />
        ) : (
          <p class="sub">The response is not stored.</p>
        )}
      </Part>
      <Part
        id="request"
        data={[request, all]}
        title="Incoming request"
        note={request.body && `${amount(request.body.bytes)} bytes`}
      >
        <Message of="request" headers={request.headers} body={request.body} all={all} from={from} />
      </Part>
    </>
  );
};
