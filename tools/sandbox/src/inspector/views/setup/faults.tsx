import { activeEndpoints, faults } from "../../../read/lists.js";
import type { faultShape } from "../../../read/shapes.js";
import { operationNames } from "../../../service/operations.js";
import type { View } from "../../view.js";
import { Action, ActionButton, isRefused, Select, typed } from "../parts/action.js";
import { Code, Hidden, Icon } from "../parts/elements.js";
import { Panel } from "../parts/piece.js";
import { optionOf } from "./endpoints.js";

type Fault = ReturnType<typeof faultShape>;

const kindTexts: Readonly<Record<Fault["kind"], string>> = {
  status: "respond with a status",
  response_lost: "lose the response",
  refused: "refuse the connection",
  timeout: "never respond",
  reset: "close the connection",
  slow: "be slow",
  duplicate: "send twice at the same time",
  reorder: "hold a batch, then send the last first",
  drop: "never send the delivery",
  mutate: "change the body",
};

/** Preset faults for the failures that people usually try first. */
const plans = [
  { text: "Fail 2, then succeed", fields: { kind: "status", status: 500, times: 2 } },
  { text: "Lose a response after success", fields: { kind: "response_lost", times: 1 } },
  { text: "Time out once", fields: { kind: "timeout", times: 1 } },
] as const;

const limited = {
  target: "POST /v1/emails",
  kind: "status",
  status: 429,
  retry_after: 2,
  times: 1,
};

/** The numeric fields of a fault. */
const numbers = [
  { text: "How often", name: "times", min: 1, max: 1_000, initial: "2", required: true },
  { text: "Status", name: "status", min: 300, max: 599, placeholder: "500" },
  { text: "Retry-After, s", name: "retry_after", min: 0, placeholder: "none" },
  { text: "Delay, ms", name: "delay_ms", min: 0, placeholder: "1000" },
];

const dropTexts = [
  ["", "is shown as failed"],
  ["succeeded", "is shown as succeeded"],
] as const;

const mutateTexts = [
  ["", "keeps its signature"],
  ["on", "is signed again"],
] as const;

const shownSlots = 20;

export const Faults = ({ view }: { view: View }) => {
  const all = faults(view.service)
    .filter(({ canceled }) => !canceled)
    .toSorted((a, b) => Math.sign(b.left) - Math.sign(a.left));
  const endpoints = activeEndpoints(view.service).map(optionOf).toReversed();
  const waiting = all.filter(({ left }) => left > 0);
  const used = all.slice(waiting.length, waiting.length + 3);
  const target = endpoints.at(-1)?.[0];
  return (
    <Panel
      id="faults"
      data={[all, endpoints.map(([id]) => id)]}
      title="Faults"
      note="applied in order, then cleared"
    >
      {[...waiting, ...used].map((fault) => (
        <FaultItem view={view} fault={fault} />
      ))}
      {waiting.length === 0 && (
        <div class="item plans">
          {target !== undefined &&
            plans.map(({ text, fields }) => (
              <ActionButton view={view} name="add-fault" with={{ target, ...fields }} text={text} />
            ))}
          <ActionButton
            view={view}
            name="add-fault"
            with={limited}
            text="429 to the next email, Retry-After 2 s"
          />
        </div>
      )}
      <NewFault view={view} endpoints={endpoints} />
    </Panel>
  );
};

type Options = readonly ReturnType<typeof optionOf>[];

const NewFault = ({ view, endpoints }: { view: View; endpoints: Options }) => {
  const place = { place: "other" };
  const value = (name: string, initial?: string) => typed(view, "add-fault", place, name, initial);
  const targets = [...endpoints, ...operationNames];
  return (
    <details id="new-fault" open={isRefused(view, "add-fault", place)}>
      <summary>Another fault</summary>
      <Action view={view} name="add-fault" with={place} class="fields" label="Another fault">
        <label>
          Where
          <Select name="target" options={targets} selected={value("target")} />
        </label>
        <label>
          What
          <Select name="kind" options={Object.entries(kindTexts)} selected={value("kind")} />
        </label>
        {numbers.map(({ text, initial, ...input }) => (
          <label>
            {text} <input type="number" {...input} value={value(input.name, initial)} />
          </label>
        ))}
        <label>
          A dropped delivery
          <Select name="result" options={dropTexts} selected={value("result")} />
        </label>
        <label>
          A changed body
          <Select name="sign_again" options={mutateTexts} selected={value("sign_again")} />
        </label>
        <button>Add</button>
      </Action>
    </details>
  );
};

const FaultItem = ({ view, fault }: { view: View; fault: Fault }) => {
  const { id, target, slots, left } = fault;
  const next = slots.findIndex((slot) => slot.used_by === undefined);
  const first = Math.max(0, Math.min(next < 0 ? slots.length : next, slots.length) - 3);
  const shown = slots.slice(first, first + shownSlots);
  return (
    <div class="item" id={id}>
      <p>
        <Code of={target} />
      </p>
      <ol class="slots" aria-label={`Uses of ${id}`}>
        {shown.map(({ what, used_by: by }, index) => (
          <li
            class={by === undefined ? (first + index === next ? "slot up" : "slot") : "slot used"}
          >
            {first + index === next && <Icon of="flag" />}
            <Hidden>{by === undefined ? "waits: " : "used: "}</Hidden>
            {what}
          </li>
        ))}
        {slots.length > first + shown.length && <li class="slot">…</li>}
        <li class="slot">
          <Icon of="ok" class="ok" />
          normal
        </li>
      </ol>
      {left > 0 && (
        <div class="line">
          <span class="sub">
            {left} of {slots.length} left
          </span>
          <ActionButton view={view} name="cancel-fault" with={{ id }} text="Cancel" />
        </div>
      )}
    </div>
  );
};
