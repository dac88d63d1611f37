import { timeline, titleOf } from "../read/queries.js";
import type { View } from "./view.js";
import { Detail } from "./views/detail.js";
import { Header } from "./views/frame/header.js";
import { Health } from "./views/timeline/health.js";
import { Page } from "./views/frame/page.js";
import { Setup } from "./views/setup/setup.js";
import { Timeline, type TimelineProps } from "./views/timeline/timeline.js";
import { resultWord } from "./words.js";

/** The parts of the page. Each can be requested separately. */
const parts = {
  header: Header,
  health: Health,
  timeline: Timeline,
  detail: Detail,
  setup: Setup,
};

type PartName = keyof typeof parts;

export const isPart = (name: string): name is PartName => Object.hasOwn(parts, name);

/** Renders the whole document. */
export async function renderPage(view: View): Promise<string> {
  const props = { view, page: pageOf(view) };
  const document = (
    <Page
      view={view}
      title={documentTitle(view)}
      header={<parts.header {...props} />}
      main={
        <>
          <div>
            <parts.health {...props} />
            <parts.timeline {...props} />
          </div>
          <parts.detail {...props} />
        </>
      }
      setup={<parts.setup {...props} />}
    />
  );
  return `<!doctype html>${await htmlOf(document)}`;
}

/**
 * Renders some parts of the page.
 * @param calls the ids of the calls to which the timeline is limited; all calls if empty
 */
export async function renderParts(
  view: View,
  names: readonly PartName[],
  calls: readonly string[],
): Promise<string> {
  const props = {
    view,
    page: pageOf(view),
    calls: calls.length === 0 ? undefined : new Set(calls),
  };
  const rendered = names.map((name) => {
    const Part = parts[name];
    return htmlOf(<Part {...props} />);
  });
  return (await Promise.all(rendered)).join("");
}

/** Renders an element as HTML. `toString` returns a promise if one of its components is asynchronous. */
const htmlOf = async (element: unknown): Promise<string> =>
  (element as { readonly toString: () => string | Promise<string> }).toString();

/** Returns the page of the timeline that the URL selects. */
function pageOf({ service, state }: View): TimelineProps["page"] {
  const { before, endpoint_id, q, type, reads = "false" } = state;
  return timeline(service, { before, endpoint_id, q, type, reads, state: state.state });
}

/** Returns a title such as `401 · email.delivered · svc-webhooks sandbox`. */
function documentTitle({ service, state: { item = "" } }: View): string {
  const shown = titleOf(service, item);
  const result = shown?.result && resultWord(shown.result);
  return [result, shown?.title, "svc-webhooks sandbox"]
    .filter((part) => part !== undefined)
    .join(" · ");
}
