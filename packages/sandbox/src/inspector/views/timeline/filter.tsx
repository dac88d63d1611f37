import { endpoints } from "../../../read/lists.js";
import type { Counts } from "../../../read/queries.js";
import { eventTypes } from "../../../delivery/event-types.js";
import { href, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { amount, shortUrl, stateLabels, stateShapes } from "../../words.js";
import { Icon } from "../parts/elements.js";

/** The parameters that a GET form or a link keeps unchanged. */
const Kept = ({ state, without }: { state: PageState; without: readonly string[] }) => (
  <>
    {Object.entries(state)
      .filter(([name]) => !without.includes(name))
      .map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
  </>
);

export const Filter = ({ view: { state, service } }: { view: View }) => {
  const types = eventTypes(service.ledger).map(({ type }) => type);
  const known = endpoints(service).toReversed();
  return (
    <form
      class="row"
      role="search"
      aria-label="Filter the timeline"
      action="/"
      id="filter"
      data-rev={revision([state, types, known.map(({ webhook_endpoint_id: id }) => id)])}
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
        {known.map(({ webhook_endpoint_id: id, url }) => (
          <option value={id} selected={id === state.endpoint_id}>
            {shortUrl(url).slice(0, 60)}
          </option>
        ))}
      </select>
      <button>Filter</button>
    </form>
  );
};

export const States = ({ view: { state }, counts }: { view: View; counts: Counts }) => {
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
