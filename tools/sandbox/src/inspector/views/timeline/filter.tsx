import { endpoints } from "../../../read/lists.js";
import type { Counts } from "../../../read/queries.js";
import { href, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { amount, stateLabel, stateShapes } from "../../words.js";
import { Select } from "../parts/action.js";
import { Icon } from "../parts/elements.js";
import { optionOf, typesOf } from "../setup/endpoints.js";

/** Hidden fields for the parameters that a form keeps unchanged. */
const Kept = ({ state, without }: { state: PageState; without: readonly string[] }) => (
  <>
    {Object.entries(state)
      .filter(([name]) => !without.includes(name))
      .map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
  </>
);

export const Filter = ({ view }: { view: View }) => {
  const { state, service } = view;
  const types = typesOf(view);
  const places = endpoints(service).map(optionOf).toReversed();
  return (
    <form
      class="row"
      role="search"
      aria-label="Filter the timeline"
      action="/"
      id="filter"
      data-rev={revision([state, types, places.map(([id]) => id)])}
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
      <Select
        name="type"
        label="Event type"
        options={[["", "All types"], ...types]}
        selected={state.type}
      />
      <Select
        name="endpoint_id"
        label="Endpoint"
        options={[["", "All endpoints"], ...places]}
        selected={state.endpoint_id}
      />
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
        .filter((word) => word !== "sending" || counts.sending > 0 || state.state === word)
        .map((word) => (
          <a
            href={href(state, { state: word, before: undefined })}
            aria-current={state.state === word ? "true" : undefined}
          >
            <Icon of={stateShapes[word]} class={stateShapes[word]} />
            {stateLabel(word)} <span data-count={word}>{amount(counts[word])}</span>
          </a>
        ))}
    </nav>
  );
};
