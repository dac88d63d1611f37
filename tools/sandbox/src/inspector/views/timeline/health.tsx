import { sentences } from "../../../lib/sentences.js";
import type { Finding } from "../../../read/findings/finding.js";
import { itemHref, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import type { Shape } from "../../words.js";
import { count } from "../../words.js";
import { Icon, Linked, Sentence } from "../parts/elements.js";

const shapes = { error: "bad", warning: "warn", info: "wait" } as const satisfies Record<
  Finding["severity"],
  Shape
>;

/** The problems that need attention and, folded, notes about conditions that are probably intended. */
export const Health = ({ view: { state, overview } }: { view: View }) => {
  const notes = overview.health.filter(({ severity }) => severity === "info");
  const problems = overview.health.filter(({ severity }) => severity !== "info");
  return (
    <section
      class="panel health"
      id="health"
      data-rev={revision([overview.health, state])}
      hidden={overview.health.length === 0}
      aria-label={problems.length === 0 ? "Notes" : "Needs attention"}
    >
      {problems.length > 0 && (
        <>
          <h2>Needs attention ({problems.length})</h2>
          <Findings state={state} of={problems} />
        </>
      )}
      {notes.length > 0 && (
        <details id="notes">
          <summary>{count(notes.length, "note")}</summary>
          <Findings state={state} of={notes} />
        </details>
      )}
    </section>
  );
};

const Findings = ({ state, of }: { state: PageState; of: readonly Finding[] }) => (
  <ul>
    {of.map((finding) => (
      <li data-finding={finding.code}>
        <Icon of={shapes[finding.severity]} class={finding.severity === "error" ? "bad" : "wait"} />
        <span>
          <Sentences of={sentences(finding.happened, finding.cause)} />{" "}
          <a href={placeOf(state, finding)}>
            <Sentence of={finding.fix} />
          </a>
        </span>
      </li>
    ))}
  </ul>
);

/** A finding's problem and its cause. The first sentence, which names the problem, is bold. */
const Sentences = ({ of }: { of: string }) => {
  const end = of.search(/\.(?: |$)/) + 1;
  return (
    <>
      <b>
        <Linked text={of.slice(0, end)} />
      </b>
      <Linked text={of.slice(end)} />
    </>
  );
};

/** Returns the link to the place on the page that corresponds to a finding's control route. */
function placeOf(state: PageState, { route, item }: Finding): string {
  const [, delivery, rest = ""] = /\/deliveries\/(\w+)(.*)$/.exec(route) ?? [];
  if (delivery !== undefined) {
    const [, n] = /^\/attempts\/(\d+)/.exec(rest) ?? [];
    const href = itemHref(state, delivery, n === undefined ? undefined : Number(n));
    // If the finding concerns an attempt, the link leads to a part of its details, which are further down the page.
    const place = rest.endsWith("/explain")
      ? "#signature"
      : n === undefined
        ? "#detail"
        : "#response";
    return href.replace("#detail", place);
  }
  const [, assumption] = /\/assumptions\/(A-\d\d)$/.exec(route) ?? [];
  if (assumption !== undefined) return `#${assumption}`;
  if (route.startsWith("GET /_sandbox/calls/") && item !== undefined) return itemHref(state, item);
  if (route.includes("/faults/")) return "#faults";
  if (route.endsWith("/endpoints")) return "#new-endpoint";
  if (route.endsWith("/archive")) return "#endpoints";
  if (route.endsWith("/clock")) return "#clock";
  return route.endsWith("/test-email") ? "#test-email" : "#base-url";
}
