import type { Child } from "hono/jsx";
import type { ActionName } from "../../../control/actions.js";
import { field, formOf, needsToken } from "../../forms.js";
import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import { Icon, Linked } from "./elements.js";

type Fixed = Readonly<Record<string, string | number>>;

interface ActionProps {
  readonly view: View;
  readonly name: ActionName;
  /** The hidden fields. They distinguish the forms of the same action; `place` has no other purpose. */
  readonly with?: Fixed;
  readonly class?: string;
  readonly label?: string;
  readonly children: Child;
}

/** A form that runs an action. If the action is refused, the form shows the error message. */
export const Action = ({
  view,
  name,
  with: fixed = {},
  class: style,
  label,
  children,
}: ActionProps) => (
  <form
    method="post"
    action={href(view.state, {}, formOf(name).anchor ?? "detail")}
    class={style}
    aria-label={label}
    data-action={name}
  >
    <input type="hidden" name="do" value={name} />
    {Object.entries(fixed).map(([key, value]) => (
      <input type="hidden" name={key} value={String(value)} />
    ))}
    {needsToken(formOf(name)) && <input type="hidden" name="token" value={view.issueToken()} />}
    {children}
    {view.outcome?.kind === "refused" && isRefused(view, name, fixed) && (
      <Refusal message={view.outcome.message} />
    )}
  </form>
);

/** A form with a single button. */
export const ActionButton = ({
  text,
  ...action
}: Pick<ActionProps, "view" | "name" | "with"> & { readonly text: string }) => (
  <Action {...action}>
    <button>{text}</button>
  </Action>
);

interface SelectProps {
  readonly name: string;
  readonly label?: string;
  /** The values, each with the text to show if it differs from the value. */
  readonly options: readonly (string | readonly [value: string, text: string])[];
  readonly selected: string | undefined;
}

export const Select = ({ name, label, options, selected }: SelectProps) => (
  <select name={name} aria-label={label}>
    {options
      .map((option) => (typeof option === "string" ? ([option, option] as const) : option))
      .map(([value, text]) => (
        <option value={value} selected={value === selected}>
          {text}
        </option>
      ))}
  </select>
);

export const Refusal = ({ message }: { message: string }) => (
  <p class="refused" role="alert">
    <Icon of="bad" class="bad" /> <Linked text={message} />
  </p>
);

/** Whether a form was rejected that has this action and these hidden fields. */
export const isRefused = ({ outcome }: View, name: ActionName, fixed: Fixed): boolean =>
  outcome?.kind === "refused" &&
  outcome.action === name &&
  Object.entries(fixed).every(([key, value]) => field(outcome.fields, key) === String(value));

/** Returns the values that were typed into a field of a rejected form, or `initial` for any other form. */
export const allTyped = (
  view: View,
  name: ActionName,
  fixed: Fixed,
  key: string,
  initial: readonly string[],
): readonly string[] =>
  view.outcome && isRefused(view, name, fixed) ? (view.outcome.fields[key] ?? []) : initial;

/** Like `allTyped`, for a field that has one value. */
export const typed = (
  view: View,
  name: ActionName,
  fixed: Fixed,
  key: string,
  initial = "",
): string => allTyped(view, name, fixed, key, [initial])[0] ?? "";
