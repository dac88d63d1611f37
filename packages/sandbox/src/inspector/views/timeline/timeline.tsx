import type { Counts, timeline } from "../../../read/queries.js";
import { clearHref, filterNames, hasFilter, href, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { amount, count, stateLabel } from "../../words.js";
import { Text } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { CallRow } from "./call-row.js";
import { Filter, States } from "./filter.js";
import { TestEmail } from "../setup/test-email.js";

export interface TimelineProps {
  readonly view: View;
  readonly page: ReturnType<typeof timeline>;
  /** The ids of the calls whose rows are needed. Default: all on the page. */
  readonly calls?: ReadonlySet<string> | undefined;
}

export const Timeline = ({ view, page, calls }: TimelineProps) => {
  const { state } = view;
  const { counts, dropped } = view.overview;
  const filters = filterNames.map((name) => state[name]);
  return (
    <section class="panel" id="timeline" aria-labelledby="h-timeline" tabindex={-1}>
      <div class="filter">
        <div class="head">
          <h2 id="h-timeline">Timeline</h2>
          <span class="note">newest first</span>
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
        {page.data
          .filter(({ id }) => calls?.has(id) ?? true)
          .map((call) => (
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
    ...(state.state === undefined ? [] : [`state ${stateLabel(state.state).toLowerCase()}`]),
    ...(state.type === undefined ? [] : [`type ${state.type}`]),
    ...(state.endpoint_id === undefined ? [] : [`endpoint ${state.endpoint_id}`]),
    ...(state.q === undefined ? [] : [`text “${state.q}”`]),
  ];
  return (
    <p class="empty" id="empty" data-rev={revision([filters, counts.calls])}>
      {filters.length === 0 ? (
        "No older calls."
      ) : (
        <>
          No call has <Text of={filters.join(", ")} />.{" "}
          {count(counts.calls, "call is", "calls are")} stored.
        </>
      )}{" "}
      <a href={clearHref(state)}>{hasFilter(state) ? "Clear the filter" : "Newest calls"}</a>
    </p>
  );
};
