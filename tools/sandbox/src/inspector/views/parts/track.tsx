import type { attemptSummary, deliveryShape } from "../../../read/shapes.js";
import { countdownText } from "../../countdown.js";
import { itemHref } from "../../page-state.js";
import { nowOf, type View } from "../../view.js";
import { durationText, lookOf, resultWord } from "../../words.js";
import { Hidden, Icon } from "./elements.js";

export type Attempt = ReturnType<typeof attemptSummary>;
export type Delivery = ReturnType<typeof deliveryShape>;

/** Consecutive attempts that are shown as one chip. */
interface Run {
  readonly first: Attempt;
  readonly last: Attempt;
  readonly size: number;
}

/** The maximum number of chips for past attempts in a track. The delivery's details contain the earlier attempts. */
const mostChips = 12;

/** Groups consecutive manual attempts with equal results and tampering. Every other attempt is a run by itself. */
function runsOf(attempts: readonly Attempt[]): readonly Run[] {
  const runs: Run[] = [];
  for (const attempt of attempts) {
    const run = runs.at(-1);
    const isSame =
      run?.first.trigger === "manual" &&
      attempt.trigger === "manual" &&
      run.first.tamper === attempt.tamper &&
      resultWord(run.first) === resultWord(attempt);
    if (run && isSame) runs[runs.length - 1] = { ...run, last: attempt, size: run.size + 1 };
    else runs.push({ first: attempt, last: attempt, size: 1 });
  }
  return runs;
}

/** The latest attempts of a delivery, oldest first, followed by the next or the running attempt. */
export const Track = ({ view, delivery }: { view: View; delivery: Delivery }) => {
  const { id, state, next } = delivery;
  const all = runsOf(delivery.attempts);
  const runs = all.slice(-mostChips);
  const last = delivery.attempts.at(-1);
  const waitsFor = next && (last ? Date.parse(next.at) - Date.parse(last.started_at) : 0);
  return (
    <ol class="track" aria-label="Attempts">
      {all.length > runs.length && (
        <li>
          <a class="more-chips" href={itemHref(view.state, id)}>
            {all.length - runs.length} earlier
          </a>
        </li>
      )}
      {runs.map((run, index) => (
        <li>
          {index > 0 && <Gap from={runs[index - 1]?.last} to={run.first} />}
          <Chip view={view} id={id} run={run} />
        </li>
      ))}
      {state === "pending" && next && (
        <li>
          {last && <span class="gap">{durationText(Math.max(0, waitsFor ?? 0))}</span>}
          <a class="chip wait" href={itemHref(view.state, id)}>
            {(last?.n ?? 0) + 1} <Icon of="wait" />
            <Hidden>waiting: </Hidden>
            in <Countdown view={view} at={next.at} />
          </a>
        </li>
      )}
      {state === "attempting" && (
        <li>
          {last && <span class="gap">now</span>}
          <a class="chip half" href={itemHref(view.state, id)}>
            {(last?.n ?? 0) + 1} <Icon of="half" />
            sending
          </a>
        </li>
      )}
    </ol>
  );
};

const Gap = ({ from, to }: { from: Attempt | undefined; to: Attempt }) => {
  const ms = from ? Date.parse(to.started_at) - Date.parse(from.started_at) : 0;
  return <span class="gap">{ms < 50 ? "now" : durationText(ms)}</span>;
};

const Chip = ({ view, id, run }: { view: View; id: string; run: Run }) => {
  const { first, last, size } = run;
  const isCurrent =
    view.state.item === id &&
    Number(view.state.attempt) >= first.n &&
    Number(view.state.attempt) <= last.n;
  const look = lookOf(first);
  return (
    <a
      class={`chip ${look}`}
      href={itemHref(view.state, id, first.n)}
      aria-current={isCurrent ? "true" : undefined}
    >
      {size === 1 ? first.n : `${first.n}–${last.n}`} <Icon of={look} />
      <Hidden>{first.ok ? "succeeded: " : "failed: "}</Hidden>
      {size === 1 ? "" : `${size} × `}
      {resultWord(first)}
      {first.fault_id !== undefined && (
        <>
          <Icon of="flag" class="wait" />
          <Hidden>, by a fault</Hidden>
        </>
      )}
      {first.tamper !== undefined && <span> tampered</span>}
    </a>
  );
};

/** The time until `at`, which the script counts down. */
export const Countdown = ({ view, at }: { view: View; at: string }) => (
  <time datetime={at} data-due={Date.parse(at)}>
    {countdownText(Date.parse(at) - nowOf(view))}
  </time>
);
