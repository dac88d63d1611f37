import { attemptRange } from "../../../lib/attempt-range.js";
import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import {
  amount,
  count,
  durationText,
  lookOf,
  resultWords,
  tamperTexts,
  triggerWords,
} from "../../words.js";
import { Icon, Scroll, Text, Time } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { Countdown, type Attempt } from "../parts/track.js";
import type { DeliveryProps } from "./props.js";

/** The number of attempts on one page of the table. */
const perPage = 50;

interface AttemptsProps extends DeliveryProps {
  readonly current: number;
}

/** The table of attempts, oldest first, followed by the next attempt. */
export const Attempts = ({ view, delivery, current }: AttemptsProps) => {
  const { attempts, next, state } = delivery;
  const { first, last } = attemptRange(attempts);
  const asked = Number(view.state.from ?? last - perPage + 1);
  const from = Math.max(Math.min(asked, last), first);
  const shown = attempts.slice(from - first, from - first + perPage);
  const rest = last - (from - 1 + shown.length);
  return (
    <Piece id="attempts" data={[attempts, next, state, from, current]} labelledby="h-attempts">
      <div class="head">
        <h3 id="h-attempts">Attempts</h3>
        {first > 1 && (
          <span class="quiet">
            {count(first - 1, "older attempt is", "older attempts are")} not kept
          </span>
        )}
        {from > first && (
          <a href={href(view.state, { from: String(Math.max(first, from - perPage)) }, "attempts")}>
            {amount(from - first)} earlier
          </a>
        )}
        {rest > 0 && (
          <a href={href(view.state, { from: String(from + perPage) }, "attempts")}>
            {amount(rest)} later
          </a>
        )}
      </div>
      <Scroll label="Attempts, table">
        <table>
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">Started</th>
              <th scope="col" class="opt">
                Trigger
              </th>
              <th scope="col">Your receiver's response</th>
              <th scope="col" class="num">
                Took
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((attempt) => (
              <AttemptRow view={view} id={delivery.id} attempt={attempt} current={current} />
            ))}
            {rest === 0 && (next || state === "attempting") && (
              <tr>
                <td>{last + 1}</td>
                <td>{next ? <Time at={next.at} /> : "now"}</td>
                <td class="opt">{next ? "scheduled" : ""}</td>
                <td class="wait">
                  <Icon of={next ? "wait" : "half"} />{" "}
                  {next ? (
                    <>
                      waiting, in <Countdown view={view} at={next.at} />
                    </>
                  ) : (
                    "sending"
                  )}
                </td>
                <td class="num quiet">–</td>
              </tr>
            )}
          </tbody>
        </table>
      </Scroll>
    </Piece>
  );
};

interface AttemptRowProps {
  readonly view: View;
  readonly id: string;
  readonly attempt: Attempt;
  readonly current: number;
}

const AttemptRow = ({ view, id, attempt, current }: AttemptRowProps) => {
  const look = lookOf(attempt);
  const isCurrent = attempt.n === current;
  return (
    <tr class={isCurrent ? "sel" : undefined}>
      <td>
        <a
          href={href(
            view.state,
            { item: id, attempt: String(attempt.n), full: undefined },
            "detail",
          )}
          aria-current={isCurrent ? "true" : undefined}
          aria-label={`Attempt ${attempt.n}`}
        >
          {attempt.n}
        </a>
      </td>
      <td>
        <Time at={attempt.started_at} />
      </td>
      <td class="opt">{triggerWords[attempt.trigger]}</td>
      <td class={`ans ${look}`}>
        <Icon of={look} /> <Text of={resultWords(attempt)} />
        {attempt.fault_id !== undefined && (
          <span class="quiet">
            {" "}
            <Icon of="flag" class="wait" /> by a fault
          </span>
        )}
        {attempt.tamper !== undefined && <span class="quiet"> {tamperTexts[attempt.tamper]}</span>}
      </td>
      <td class="num">{durationText(attempt.ms)}</td>
    </tr>
  );
};
