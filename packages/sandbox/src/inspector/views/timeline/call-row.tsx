import { cursorOf } from "../../../read/search.js";
import type { callShape, eventShape } from "../../../read/shapes.js";
import { itemHref, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { durationText, notSentTexts, shortUrl } from "../../words.js";
import { Icon, Sentence, Text, Time } from "../parts/elements.js";
import { Track, type Delivery } from "../parts/track.js";

export type Call = ReturnType<typeof callShape>;
type Event = ReturnType<typeof eventShape>;

/** A call, with everything that it caused below it. */
export const CallRow = ({ view, call }: { view: View; call: Call }) => {
  const { state } = view;
  const items = [
    call.id,
    call.send?.id,
    ...call.events.flatMap(({ id, deliveries }) => [id, ...deliveries.map((one) => one.id)]),
  ];
  const selected = items.includes(state.item) ? [state.item, state.attempt] : undefined;
  const start = Date.parse(call.at);
  return (
    <li
      id={call.id}
      data-rev={revision([call, selected])}
      data-cursor={cursorOf({ at: start, id: call.id })}
    >
      <div class={state.item === call.id ? "call sel" : "call"}>
        <Icon of="call" class="quiet" />
        <div class="what">
          <a class="name" href={itemHref(state, call.id)} aria-current={currentOf(state, call.id)}>
            <code>
              <Text of={`${call.method} ${call.path}`} />
            </code>
          </a>{" "}
          <CallResult call={call} />
          <CallNotes call={call} />
        </div>
        <Time at={call.at} />
      </div>
      {(call.send || call.events.length > 0) && (
        <ol class="tree">
          {call.send && (
            <li class={state.item === call.send.id ? "sel" : undefined}>
              <div class="node">
                <Icon of="mail" />
                <div>
                  <a
                    class="name"
                    href={itemHref(state, call.send.id)}
                    aria-current={currentOf(state, call.send.id)}
                  >
                    <Text of={call.send.subject} />
                  </a>
                  <div class="sub">
                    to <Text of={addresses(call.send.to)} />, {historyOf(call.send.history)}
                  </div>
                </div>
              </div>
            </li>
          )}
          {call.events.map((event) => (
            <EventRows view={view} event={event} start={start} />
          ))}
        </ol>
      )}
    </li>
  );
};

const currentOf = (state: PageState, id: string) => (state.item === id ? "true" : undefined);

const addresses = (to: readonly string[]) =>
  to.length > 3 ? `${to.slice(0, 3).join(", ")} and ${to.length - 3} more` : to.join(", ");

const historyOf = (history: readonly { readonly status: string; readonly note?: string }[]) =>
  history
    .filter(({ note }) => note === undefined)
    .map(({ status }) => status)
    .join(" › ");

export const CallResult = ({ call: { status, code, lost } }: { call: Call }) => {
  if (lost) return <span class="code bad">no response</span>;
  if (status === 0) return <span class="code wait">running</span>;
  return (
    <span class={`code ${status < 400 ? "ok" : "bad"}`}>
      {status} {code}
    </span>
  );
};

/** Facts about a call that its status does not show. */
const CallNotes = ({ call }: { call: Call }) => (
  <>
    {call.idempotency_key !== undefined && (
      <div class="sub">
        Idempotency-Key{" "}
        <code>
          <Text of={call.idempotency_key} />
        </code>
        {call.replayed && ", the response to the first call was returned again"}
      </div>
    )}
    {call.fault_id !== undefined && (
      <div class="sub">
        <Icon of="flag" class="wait" />{" "}
        {call.lost ? "its response was lost by a fault" : "by a fault"}
      </div>
    )}
    {call.notes?.map((note) => (
      <div class="sub">
        <Sentence of={note} />
      </div>
    ))}
  </>
);

const EventRows = ({ view, event, start }: { view: View; event: Event; start: number }) => {
  const after = `+${durationText(Math.max(0, Date.parse(event.at) - start))}`;
  if (event.not_sent !== undefined || event.deliveries.length === 0) {
    return (
      <li class={view.state.item === event.id ? "sel" : undefined}>
        <EventName view={view} id={event.id} type={event.type} after={after} />
        <p class="track">
          <span class="chip quiet">
            <Icon of="none" />
            {event.not_sent === undefined
              ? "its deliveries were dropped"
              : notSentTexts[event.not_sent]}
          </span>
        </p>
      </li>
    );
  }
  return (
    <>
      {event.deliveries.map((delivery) => (
        <li class={view.state.item === delivery.id ? "sel" : undefined}>
          <EventName
            view={view}
            id={delivery.id}
            type={event.type}
            after={after}
            delivery={delivery}
          />
          <Track view={view} delivery={delivery} />
        </li>
      ))}
    </>
  );
};

interface EventNameProps {
  readonly view: View;
  readonly id: string;
  readonly type: string;
  readonly after: string;
  readonly delivery?: Delivery;
}

const EventName = ({ view, id, type, after, delivery }: EventNameProps) => (
  <div class="node">
    <Icon of="event" />
    <div>
      <a class="name" href={itemHref(view.state, id)} aria-current={currentOf(view.state, id)}>
        <Text of={type} />
      </a>
      {delivery && (
        <span class="sub">
          {" "}
          to <Text of={shortUrl(delivery.url)} />
          {delivery.edited && ", edited"}
        </span>
      )}
    </div>
    <span class="t">{after}</span>
  </div>
);
