import type { Finding } from "../../../read/findings/finding.js";
import { clearHref, itemHref, type PageState } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import type { Shape } from "../../words.js";
import { Icon, Linked } from "../parts/elements.js";

const shapes = { error: "bad", warning: "warn", info: "wait" } as const satisfies Record<
  Finding["severity"],
  Shape
>;

interface HealthProps {
  readonly view: View;
  /** Whether the filter hides the newest call. */
  readonly isFiltered: boolean;
}

export const Health = ({ view: { state, overview }, isFiltered }: HealthProps) => {
  const found = overview.health.map((finding) => ({
    code: finding.code,
    severity: finding.severity,
    text: finding.text,
    remedy: { text: finding.remedy.text, href: placeOf(state, finding) },
  }));
  const all = [...found, ...(isFiltered ? [filtered(state)] : [])];
  return (
    <section
      class="panel health"
      id="health"
      data-rev={revision(all)}
      hidden={all.length === 0}
      aria-labelledby="h-health"
    >
      <h2 id="h-health">Needs attention</h2>
      <ul>
        {all.map(({ code, severity, text, remedy }) => (
          <li data-finding={code}>
            <Icon of={shapes[severity]} class={severity === "error" ? "bad" : "wait"} />
            <span>
              <Sentences of={text} /> <a href={remedy.href}>{remedy.text}</a>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const filtered = (state: PageState) =>
  ({
    code: "page_filtered",
    severity: "info",
    text: "The newest call does not match the filter. It may be what you are waiting for.",
    remedy: { text: "Clear the filter.", href: clearHref(state) },
  }) as const;

/** The text of a finding. The first sentence names the problem, and is bold. */
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

/** Returns the link to the form that does the same as a control route. */
function placeOf(state: PageState, { remedy: { route }, item }: Finding): string {
  const [, delivery, rest = ""] = /\/deliveries\/(\w+)(.*)$/.exec(route) ?? [];
  if (delivery !== undefined) {
    const [, n] = /^\/attempts\/(\d+)/.exec(rest) ?? [];
    const href = itemHref(state, delivery, n === undefined ? undefined : Number(n));
    // The attempt's response is further down in the item.
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
