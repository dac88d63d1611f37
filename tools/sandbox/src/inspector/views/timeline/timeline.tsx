import { timeline, type Counts } from "../../../read/queries.js";
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
          <a
            class="note"
            id="reads"
            data-rev={revision(state)}
            href={href(state, { reads: state.reads ? undefined : "true", before: undefined })}
          >
            {state.reads ? "Hide reads" : "Show reads"}
          </a>
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
      {hidesNewest(view, page) && (
        <p class="empty" id="hides-newest" data-rev={revision(state)} data-finding="page_filtered">
          The newest call does not match the filter. It may be the one you are waiting for.{" "}
          <a href={clearHref(state)}>Clear the filter.</a>
        </p>
      )}
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

/** Whether the page shows calls, but the filter hides the newest one. The developer may be waiting for that call. */
function hidesNewest({ service, state }: View, { data }: TimelineProps["page"]): boolean {
  if (data.length === 0 || !hasFilter(state) || state.before !== undefined) return false;
  const { reads = "false" } = state;
  const [newest] = timeline(service, { limit: 1, reads }).data;
  return newest !== undefined && newest.id !== data[0]?.id;
}

const Empty = ({ state, counts }: { state: PageState; counts: Counts }) => {
  if (counts.calls === 0) {
    return (
      <p class="empty" id="empty" data-rev="none">
        No call has arrived yet. Calls to the base URL appear here within a second, each with the
        events and deliveries that it causes.
      </p>
    );
  }
  const filters = [
    ...(state.state === undefined ? [] : [`state ${stateLabel(state.state).toLowerCase()}`]),
    ...(state.type === undefined ? [] : [`type ${state.type}`]),
    ...(state.endpoint_id === undefined ? [] : [`endpoint ${state.endpoint_id}`]),
    ...(state.q === undefined ? [] : [`text “${state.q}”`]),
  ];
  const way = hasFilter(state)
    ? (["Clear the filter", clearHref(state)] as const)
    : state.before === undefined
      ? (["Show reads", href(state, { reads: "true" })] as const)
      : (["Newest calls", clearHref(state)] as const);
  return (
    <p
      class="empty"
      id="empty"
      data-rev={revision([filters, counts.calls])}
      data-finding={hasFilter(state) && state.before === undefined ? "page_filtered" : undefined}
    >
      {filters.length > 0 ? (
        <>
          No call matches <Text of={filters.join(", ")} />.{" "}
          {count(counts.calls, "call is", "calls are")} stored.
        </>
      ) : state.before === undefined ? (
        "All calls so far are reads, which are hidden."
      ) : (
        "No older calls."
      )}{" "}
      <a href={way[1]}>{way[0]}</a>
    </p>
  );
};
