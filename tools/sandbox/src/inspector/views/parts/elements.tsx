import type { Child } from "hono/jsx";
import { visible } from "../../visible.js";
import type { Shape } from "../../words.js";

interface IconProps {
  readonly of: Shape | "call" | "mail" | "sent" | "delivered" | "copy" | "dot" | "logo";
  readonly class?: string | undefined;
}

/** An icon of the page's sprite. It is hidden from screen readers, because the text next to it has the same meaning. */
export const Icon = ({ of, class: name }: IconProps) => (
  <svg aria-hidden="true" class={name}>
    <use href={`#i-${of}`} />
  </svg>
);

/** Untrusted text. No part of it can hide, run, or change its surroundings. */
export const Text = ({ of, lines = false }: { of: string; lines?: boolean }) => {
  const parts = visible(of, lines).map((part) =>
    typeof part === "string" ? part : <span class="mark">{part.name}</span>,
  );
  // `<bdi>` matters only for right-to-left text, which is never ASCII. Omitting it from ASCII text saves thousands of
  // elements.
  return mayTurn.test(of) ? <bdi>{parts}</bdi> : <>{parts}</>;
};

export const Code = ({ of }: { of: string }) => (
  <code>
    <Text of={of} />
  </code>
);

const mayTurn = /\P{ASCII}/u;

/** A time of day, in UTC like all times in the sandbox. */
export const Time = ({ at }: { at: string }) => (
  <time class="t" datetime={at}>
    {at.slice(11, 23)}
  </time>
);

/** A button that copies text. The script shows it if the browser can copy. */
export const Copy = ({ text, label }: { text: string; label: string }) => (
  <button class="bare" type="button" hidden data-copy={text} aria-label={label}>
    <Icon of="copy" />
  </button>
);

interface CopyBodyProps {
  /** The name of the copied body, such as `body of the response`. */
  readonly of: string;
  /** The control route that returns the body. `place` is the path of the body in the route's JSON. */
  readonly from: string;
  readonly place: string;
}

/**
 * A button that copies a body exactly. The script fetches the body, because the page must not contain the body's
 * invisible characters. The script also shows the button, if the browser can copy.
 */
export const CopyBody = ({ of, from, place }: CopyBodyProps) => (
  <button
    class="bare"
    type="button"
    hidden
    data-copy={place}
    data-from={from}
    aria-label={`Copy the ${of}`}
  >
    <Icon of="copy" /> Copy
  </button>
);

export const Key = ({ of }: { of: string }) => <kbd aria-hidden="true">{of}</kbd>;

export const Hidden = ({ children }: { children: Child }) => <span class="vh">{children}</span>;

export const Assumed = ({ id }: { id: string }) => (
  <a class="as" href={`#${id}`}>
    {id}
  </a>
);

/** A sentence in which names in backticks are shown as code. */
export const Sentence = ({ of }: { of: string }) => (
  <>
    {of
      .split("`")
      .map((part, index) => (index % 2 === 1 ? <Code of={part} /> : <Text of={part} />))}
  </>
);

const isoTime = /\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\.\d{3}Z/g;

/**
 * Text that the sandbox has written. Each A-nn links to its row in the list of assumptions, names in backticks are
 * shown as code, and timestamps are shortened to the time of day.
 */
export const Linked = ({ text }: { text: string }) => (
  <>
    {text
      .replaceAll(isoTime, "$1")
      .split(/(A-\d\d)/)
      .map((part, index) => (index % 2 === 1 ? <Assumed id={part} /> : <Sentence of={part} />))}
  </>
);

/** A result or a state, with its icon. */
export const Verdict = ({ of, id, role, children }: VerdictProps) => {
  const tint = of === "ok" || of === "bad" ? of : undefined;
  return (
    <p class={`verdict ${tint ? `${tint}-tint` : "none"}`} id={id} role={role}>
      <Icon of={of} class={tint} />
      <span>{children}</span>
    </p>
  );
};

interface VerdictProps {
  readonly of: Shape;
  readonly id?: string;
  readonly role?: string;
  readonly children: Child;
}

/** A scrollable box that can have the focus, so that the keyboard can scroll it too. */
export const Scroll = ({ label, children }: { label: string; children: Child }) => (
  <div class="scroll" tabindex={0} role="region" aria-label={label}>
    {children}
  </div>
);
