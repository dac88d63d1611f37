import type { Child } from "hono/jsx";
import { cursorOf } from "../../../read/search.js";
import type { callShape, eventShape } from "../../../read/shapes.js";
import { itemHref } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { durationText, notSentTexts, shortUrl } from "../../words.js";
import { Code, Icon, Sentence, Text, Time } from "../parts/elements.js";
import { Track, type Delivery } from "../parts/track.js";

export type Call = ReturnType<typeof callShape>;
type Event = ReturnType<typeof eventShape>;

/** A call, followed by everything that it caused. */
export const CallRow = ({ view, call }: { view: View; call: Call }) => {
  const { state } = view;
  const items = [
    call.id,
    call.send?.id,
    ...call.events.flatMap(({ id, deliveries }) => [
      id,
      ...deliveries.map((delivery) => delivery.id),
    ]),
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
        <Icon of="call" />
        <div class="what">
          <Name view={view} id={call.id}>
            <Code of={`${call.method} ${call.path}`} />
          </Name>
        </div>
        <CallResult call={call} />
        <CallFacts call={call} />
        <Time at={call.at} />
      </div>
      {call.notes?.map((note) => (
        <p class="sub">
          <Sentence of={note} />
        </p>
      ))}
      {(call.send || call.events.length > 0) && (
        <ol class="tree">
          {call.send && (
            <Item view={view} id={call.send.id}>
              <Icon of="mail" />
              <div class="what">
                <Name view={view} id={call.send.id}>
                  <Text of={call.send.subject} />
                </Name>{" "}
                <span class="sub">
                  to <Text of={addresses(call.send.to)} />, {historyOf(call.send.history)}
                </span>
              </div>
            </Item>
          )}
          {call.events.map((event) => (
            <EventRows view={view} event={event} start={start} />
          ))}
        </ol>
      )}
    </li>
  );
};

interface ItemProps {
  readonly view: View;
  readonly id: string;
  readonly children: Child;
}

const Item = ({ view: { state }, id, children }: ItemProps) => (
  <li class={state.item === id ? "node sel" : "node"}>{children}</li>
);

const Name = ({ view: { state }, id, children }: ItemProps) => (
  <a class="name" href={itemHref(state, id)} aria-current={state.item === id ? "true" : undefined}>
    {children}
  </a>
);

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
const CallFacts = ({ call }: { call: Call }) => (
  <div class="sub facts">
    {call.fault_id !== undefined && (
      <>
        <Icon of="flag" class="wait" />{" "}
        {call.lost ? "a fault dropped its response" : "by a fault"}{" "}
      </>
    )}
    {call.idempotency_key !== undefined && (
      <>
        {call.replayed && "the response to the first call was returned again, "}
        Idempotency-Key <Code of={call.idempotency_key} />
      </>
    )}
  </div>
);

const EventRows = ({ view, event, start }: { view: View; event: Event; start: number }) => {
  const after = `+${durationText(Math.max(0, Date.parse(event.at) - start))}`;
  if (event.not_sent !== undefined || event.deliveries.length === 0) {
    return (
      <Item view={view} id={event.id}>
        <EventName view={view} id={event.id} type={event.type} after={after} />
        <p class="chip quiet">
          <Icon of="none" />
          {event.not_sent === undefined
            ? "its deliveries were dropped"
            : notSentTexts[event.not_sent]}
        </p>
      </Item>
    );
  }
  return (
    <>
      {event.deliveries.map((delivery) => (
        <Item view={view} id={delivery.id}>
          <EventName
            view={view}
            type={event.type}
            after={after}
            id={delivery.id}
            delivery={delivery}
            isAmbiguous={event.deliveries.some(
              ({ id, url }) => id !== delivery.id && url === delivery.url,
            )}
          />
          <Track view={view} delivery={delivery} />
        </Item>
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
  /** Whether the event has another delivery to the same URL. */
  readonly isAmbiguous?: boolean;
}

const EventName = ({ view, id, type, after, delivery, isAmbiguous }: EventNameProps) => (
  <>
    <Icon of={typeIcons[type] ?? "event"} />
    <div class="what">
      <Name view={view} id={id}>
        <Text of={type} />
      </Name>
      {delivery && (
        <span class="sub">
          {" "}
          to <Text of={shortUrl(delivery.url)} />
          {isAmbiguous && ` (${delivery.endpoint_id})`}
          {delivery.edited && ", edited"}
        </span>
      )}
    </div>
    <span class="t">{after}</span>
  </>
);

/** The icons of the event types that an ordinary email raises. */
const typeIcons: Readonly<Record<string, "sent" | "delivered">> = {
  "email.sent": "sent",
  "email.delivered": "delivered",
};
