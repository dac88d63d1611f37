import type { Child } from "hono/jsx";
import { actionOf, field, needsToken, type ActionName } from "../actions.js";
import { href } from "../page-state.js";
import type { View } from "../view.js";
import { Icon, Text } from "./elements.js";

interface ActionProps {
  readonly view: View;
  readonly name: ActionName;
  /** Fields that are not shown. */
  readonly with?: Readonly<Record<string, string | number>>;
  readonly class?: string;
  readonly label?: string;
  readonly children: Child;
}

/** A form that does something. A refusal appears next to its button. */
export const Action = ({
  view,
  name,
  with: fixed = {},
  class: style,
  label,
  children,
}: ActionProps) => {
  const refused = refusalOf(view, name, fixed);
  return (
    <form
      method="post"
      action={href(view.state)}
      class={style}
      aria-label={label}
      data-action={name}
    >
      <input type="hidden" name="do" value={name} />
      {Object.entries(fixed).map(([key, value]) => (
        <input type="hidden" name={key} value={String(value)} />
      ))}
      {needsToken(actionOf(name)) && <input type="hidden" name="token" value={view.issueToken()} />}
      {children}
      {refused !== undefined && (
        <p class="refused" role="alert">
          <Icon of="bad" class="bad" /> <Text of={refused} />
        </p>
      )}
    </form>
  );
};

/** Whether the form that was sent is this one: the same action on the same thing. */
const isSent = (
  { outcome }: View,
  name: ActionName,
  fixed: Readonly<Record<string, string | number>>,
) =>
  outcome?.action === name &&
  Object.entries(fixed).every(([key, value]) => field(outcome.fields, key) === String(value));

const refusalOf = (
  view: View,
  name: ActionName,
  fixed: Readonly<Record<string, string | number>>,
): string | undefined =>
  view.outcome?.kind === "refused" && isSent(view, name, fixed) ? view.outcome.message : undefined;

/** What somebody typed into a form that was refused, so that it is not lost. */
export const typed = ({ outcome }: View, name: ActionName, key: string, initial = ""): string =>
  outcome?.kind === "refused" && outcome.action === name ? field(outcome.fields, key) : initial;

/** What the piece of a form depends on besides its data: the outcome, if it was one of these actions. */
export const outcomeOf = ({ outcome }: View, ...names: readonly ActionName[]): unknown =>
  outcome && names.includes(outcome.action) ? outcome : undefined;
