import type { callShape, eventShape } from "../../control/shapes.js";
import type { Counts, timeline } from "../../control/queries.js";
import { eventTypes } from "../../delivery/event-types.js";
import {
  clearHref,
  filterNames,
  hasFilter,
  href,
  itemHref,
  type PageState,
} from "../page-state.js";
import { revision, type View } from "../view.js";
import {
  amount,
  count,
  durationText,
  notSentTexts,
  shortUrl,
  stateLabels,
  stateShapes,
} from "../words.js";
import { Action, isRefused, typed } from "./action.js";
import { Icon, Key, Text, Time } from "./elements.js";
import { Piece } from "./piece.js";
import { Track, type Delivery } from "./track.js";

export type Call = ReturnType<typeof callShape>;
type Event = ReturnType<typeof eventShape>;

interface TimelineProps {
  readonly view: View;
  readonly page: ReturnType<typeof timeline>;
}

export const Timeline = ({ view, page }: TimelineProps) => {
  const { state } = view;
  const { counts, dropped } = view.overview;
  const filters = filterNames.map((name) => state[name]);
  return (
    <section class="panel" id="timeline" aria-labelledby="h-timeline" tabindex={-1}>
      <div class="filter">
        <div class="head">
          <h2 id="h-timeline">Timeline</h2>
          <span class="note">newest call first, cause above effect</span>
          <TestEmail view={view} />
        </div>
        <Filter view={view} />
        <States view={view} counts={counts} />
      </div>
      <a
        class="newer"
        id="newer"
        href={href(state, { before: undefined }, "timeline")}
        hidden={state.before === undefined}
      >
        Newer calls
      </a>
      <ol class="tl" id="calls" data-scope={revision([filters, state.before])}>
        {page.data.map((call) => (
          <CallRow view={view} call={call} />
        ))}
      </ol>
      {page.data.length === 0 && <Empty state={state} counts={counts} />}
      <Piece
        id="more"
        class="more"
        data={[page.next_cursor, page.data.length, counts.calls, dropped]}
      >
        {page.next_cursor !== null && (
          <a class="btn" id="older" href={href(state, { before: page.next_cursor }, "timeline")}>
            Older
          </a>
        )}
        {counts.calls > 0 && (
          <p>
            <span data-shown>{amount(page.data.length)}</span> of {count(counts.calls, "call")}{" "}
            shown
            {dropped > 0 && `, ${count(dropped, "older call")} dropped`}
          </p>
        )}
      </Piece>
    </section>
  );
};

const options = { place: "options" };

const TestEmail = ({ view }: { view: View }) => (
  <div class="end" id="test-email" data-rev="form">
    <Action view={view} name="test-email" with={{ place: "timeline" }}>
      <button data-key="t">
        Send a test email <Key of="t" />
      </button>
    </Action>
    <details class="menu" id="test-email-options" open={isRefused(view, "test-email", options)}>
      <summary aria-label="Options of the test email">…</summary>
      <Action view={view} name="test-email" with={options} class="fields" label="Test email">
        <label>
          To{" "}
          <input
            name="to"
            placeholder="ada@example.test"
            value={typed(view, "test-email", options, "to")}
          />
        </label>
        <label>
          Subject{" "}
          <input
            name="subject"
            placeholder="Test email"
            value={typed(view, "test-email", options, "subject")}
          />
        </label>
        <label>
          What happens to it{" "}
          <select name="scenario">
            {["delivered", "bounced", "failed", "delayed"].map((one) => (
              <option selected={one === typed(view, "test-email", options, "scenario")}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <button>Send it</button>
      </Action>
    </details>
  </div>
);

/** What a GET form or a link keeps besides what it changes. */
const Kept = ({ state, without }: { state: PageState; without: readonly string[] }) => (
  <>
    {Object.entries(state)
      .filter(([name]) => !without.includes(name))
      .map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
  </>
);

const Filter = ({ view: { state, service } }: { view: View }) => {
  const types = eventTypes(service.ledger).map(({ type }) => type);
  const endpoints = Array.from(service.state.endpoints.all());
  return (
    <form
      class="row"
      role="search"
      aria-label="Filter the timeline"
      action="/"
      id="filter"
      data-rev={revision([state, types, endpoints.map(({ id }) => id)])}
    >
      <Kept state={state} without={["q", "type", "endpoint_id", "before"]} />
      <input
        type="search"
        name="q"
        value={state.q ?? ""}
        maxlength={200}
        aria-label="Text, id or code"
        placeholder="Text, id or code"
        data-key="/"
      />
      <select name="type" aria-label="Event type">
        <option value="">All types</option>
        {types.map((type) => (
          <option selected={type === state.type}>{type}</option>
        ))}
      </select>
      <select name="endpoint_id" aria-label="Endpoint">
        <option value="">All endpoints</option>
        {endpoints.map(({ id, url }) => (
          <option value={id} selected={id === state.endpoint_id}>
            {shortUrl(url).slice(0, 60)}
          </option>
        ))}
      </select>
      <button>Filter</button>
    </form>
  );
};

const States = ({ view: { state }, counts }: { view: View; counts: Counts }) => {
  const states = ["failed", "waiting", "sending", "succeeded", "not_sent"] as const;
  return (
    <nav
      class="seg"
      id="states"
      aria-label="State of deliveries"
      data-rev={revision([state, counts])}
    >
      <a
        href={href(state, { state: undefined, before: undefined })}
        aria-current={state.state === undefined ? "true" : undefined}
      >
        All <span data-count="deliveries">{amount(counts.deliveries)}</span>
      </a>
      {states
        .filter((one) => one !== "sending" || counts.sending > 0 || state.state === one)
        .map((one) => (
          <a
            href={href(state, { state: one, before: undefined })}
            aria-current={state.state === one ? "true" : undefined}
          >
            <Icon of={stateShapes[one]} class={stateShapes[one]} />
            {stateLabels[one]} <span data-count={one}>{amount(counts[one])}</span>
          </a>
        ))}
    </nav>
  );
};

const Empty = ({ state, counts }: { state: PageState; counts: Counts }) => {
  if (counts.calls === 0) {
    return (
      <p class="empty" id="empty" data-rev="none">
        No call has come in yet. A call to the base URL appears here within a second, with
        everything that it causes below it.
      </p>
    );
  }
  const filters = [
    ...(state.state === undefined ? [] : [`state ${stateLabels[state.state].toLowerCase()}`]),
    ...(state.type === undefined ? [] : [`type ${state.type}`]),
    ...(state.endpoint_id === undefined ? [] : [`endpoint ${state.endpoint_id}`]),
    ...(state.q === undefined ? [] : [`text “${state.q}”`]),
  ];
  return (
    <p class="empty" id="empty" data-rev={revision([filters, counts.calls])}>
      {filters.length === 0 ? (
        "There are no older calls."
      ) : (
        <>
          No call has <Text of={filters.join(", ")} />. {count(counts.calls, "call")} are stored.
        </>
      )}{" "}
      <a href={clearHref(state)}>{hasFilter(state) ? "Clear the filter" : "Newest calls"}</a>
    </p>
  );
};

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
    <li id={call.id} data-rev={revision([call, selected])}>
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

export const historyOf = (
  history: readonly { readonly status: string; readonly note?: string }[],
) =>
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

/** What a developer should know of a call although its status does not say it. */
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
        <Text of={note} />
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
