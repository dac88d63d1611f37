import type { Child } from "hono/jsx";
import { causesOf } from "../../../read/queries.js";
import { itemHref } from "../../page-state.js";
import type { View } from "../../view.js";
import { Copy, Text } from "./elements.js";

export interface Step {
  readonly id?: string | undefined;
  readonly text: string;
}

/** The causes of an item, earliest first, followed by the item itself. */
export const Trail = ({ view, steps }: { view: View; steps: readonly Step[] }) => (
  <ol class="trail" aria-label="Came from">
    {steps.map(({ id, text }) => (
      <li>{id === undefined ? <Text of={text} /> : <ItemLink view={view} id={id} of={text} />}</li>
    ))}
  </ol>
);

/** A link to an item, with the item's name as its text. */
export const ItemLink = ({ view, id, of }: { view: View; id: string; of: string }) => (
  <a href={itemHref(view.state, id)}>
    <Text of={of} />
  </a>
);

export const Ids = ({ children }: { children: Child }) => <div class="ids">{children}</div>;

export const Id = ({ of, name }: { of: string; name: string }) => (
  <span>
    {name} <code>{of}</code>
    <Copy text={of} label={`Copy the ${name.toLowerCase()} id`} />
  </span>
);

/** Returns the steps of a trail for the call and the send that caused an item, if they are still stored. */
export function stepsOf(view: View, callId: string, sendId: string | undefined): readonly Step[] {
  const { call, send } = causesOf(view.service, callId, sendId);
  return [
    ...(call ? [{ id: call.id, text: `${call.method} ${call.path}` }] : []),
    ...(send ? [{ id: send.id, text: send.subject }] : []),
  ];
}
