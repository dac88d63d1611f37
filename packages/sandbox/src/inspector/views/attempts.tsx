import { href } from "../page-state.js";
import type { View } from "../view.js";
import { amount, durationText, resultWords, tamperTexts, triggerWords } from "../words.js";
import { Icon, Scroll, Text, Time } from "./elements.js";
import { Piece } from "./piece.js";
import { Countdown, type Attempt } from "./track.js";
import type { DeliveryProps } from "./delivery-props.js";

/** Attempts that one page of the table has. */
const perPage = 50;

interface AttemptsProps extends DeliveryProps {
  readonly current: number;
}

/** The attempts, oldest first, and the one that comes next. */
export const Attempts = ({ view, delivery, current }: AttemptsProps) => {
  const { attempts, next, state } = delivery;
  const newest = Math.max(1, attempts.length - perPage + 1);
  const from = Math.min(Number(view.state.from ?? newest), Math.max(1, attempts.length));
  const shown = attempts.slice(from - 1, from - 1 + perPage);
  const rest = attempts.length - (from - 1 + shown.length);
  return (
    <Piece id="attempts" data={[attempts, next, state, from, current]} labelledby="h-attempts">
      <div class="head">
        <h3 id="h-attempts">Attempts</h3>
        {from > 1 && (
          <a href={href(view.state, { from: String(Math.max(1, from - perPage)) }, "attempts")}>
            {amount(from - 1)} earlier
          </a>
        )}
        {rest > 0 && (
          <a href={href(view.state, { from: String(from + perPage) }, "attempts")}>
            {amount(rest)} later
          </a>
        )}
      </div>
      <Scroll label="Attempts, table">
        <table class="att">
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
                <td>{attempts.length + 1}</td>
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
      <td class={attempt.ok ? "ans ok" : "ans bad"}>
        <Icon of={attempt.ok ? "ok" : "bad"} /> <Text of={resultWords(attempt)} />
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
