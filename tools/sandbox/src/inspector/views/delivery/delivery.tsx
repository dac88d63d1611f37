import { attemptDetail, causesOf, sendDetail } from "../../../read/queries.js";
import { passedPercent } from "../../countdown.js";
import { shownAttempt } from "../../page-state.js";
import { nowOf } from "../../view.js";
import { visibleText } from "../../visible.js";
import { resultWords, shortUrl } from "../../words.js";
import { Action, ActionButton } from "../parts/action.js";
import { Assumed, Icon, Key, Text, Time, Verdict } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { Mail } from "../items/send.js";
import { Signature } from "./signature.js";
import { Countdown } from "../parts/track.js";
import { Id, Ids, stepsOf, Trail } from "../parts/trail.js";
import type { DeliveryProps } from "./props.js";
import { Actions, type ActionsProps } from "./actions.js";
import { Attempts } from "./attempts.js";
import { NotProcessed, ReceivedResponse, ReceiverLog, Request } from "./exchange.js";

/** The details of a delivery, with its selected attempt. */
export const DeliveryDetail = async ({ view, delivery }: DeliveryProps) => {
  const { service, state } = view;
  const full = state.full === "true";
  const n = shownAttempt(state, delivery.attempts);
  const attempt = n > 0 ? await attemptDetail(service, delivery.id, String(n), full) : undefined;
  const { send: cause } = causesOf(service, delivery.call_id, delivery.send_id);
  const send = cause && sendDetail(service, cause.id, full);
  return (
    <>
      <About view={view} delivery={delivery} attempt={attempt} />
      <Actions view={view} delivery={delivery} attempt={attempt} />
      <Attempts view={view} delivery={delivery} current={n} />
      {attempt && (
        <>
          <ReceivedResponse view={view} attempt={attempt} />
          <ReceiverLog attempt={attempt} />
          <Signature view={view} delivery={delivery} attempt={attempt} />
          <Request view={view} delivery={delivery} attempt={attempt} />
        </>
      )}
      {send && (
        <details id="mail-of-delivery" class="fold">
          <summary>
            Email: <Text of={send.subject} />
          </summary>
          <Mail view={view} send={send} />
        </details>
      )}
    </>
  );
};

const About = ({ view, delivery, attempt }: ActionsProps) => {
  const { type, url, next, state } = delivery;
  const about = [delivery.attempts.at(-1)?.n, state, next, delivery.delivery_id, attempt?.n];
  return (
    <Piece id="about" class="about" data={about}>
      <Trail
        view={view}
        steps={[
          ...stepsOf(view, delivery.call_id, delivery.send_id),
          { id: delivery.source_event_id, text: type },
          { text: delivery.edited ? "delivery, edited" : "delivery" },
        ]}
      />
      <h2 id="h-detail">
        <Text of={type} />{" "}
        <span class="to">
          to <Text of={shortUrl(url)} />
        </span>
      </h2>
      {attempt && <NotProcessed attempt={attempt} />}
      <p class="vh" data-announce>
        {visibleText(announcement(delivery))}
      </p>
      <Ids>
        <Id of={delivery.delivery_id} name="Delivery" />
        <Id of={delivery.event_id} name="Event" />
        <Id of={delivery.subscription_id} name="Subscription" />
      </Ids>
      {next && (
        <div class="next">
          <Icon of="wait" class="wait" />
          <p>
            <b>
              Attempt {next.n} of {next.of} starts in <Countdown view={view} at={next.at} />
            </b>
            <br />
            <span class="sub">
              at <Time at={next.at} /> <Assumed id="A-09" />
            </span>
          </p>
          <div class="btns">
            <Action view={view} name="run-now" with={{ id: delivery.id }}>
              <button class="main" data-key="n">
                Run now <Key of="n" />
              </button>
            </Action>
            <ActionButton view={view} name="skip" with={{ id: delivery.id }} text="Skip" />
          </div>
          <Bar view={view} delivery={delivery} at={next.at} />
        </div>
      )}
      {state === "attempting" && <Verdict of="half">An attempt is in progress.</Verdict>}
    </Piece>
  );
};

/** A progress bar from the last attempt to the next attempt. The script updates it. */
const Bar = ({ view, delivery, at }: DeliveryProps & { readonly at: string }) => {
  const from = Date.parse(delivery.attempts.at(-1)?.started_at ?? delivery.created_at);
  const to = Date.parse(at);
  const width = String(passedPercent(nowOf(view), from, to));
  return (
    <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="rest" width="100" height="4" />
      <rect class="done" width={width} height="4" data-from={from} data-to={to} />
    </svg>
  );
};

/** Returns the text that a screen reader announces when it changes. */
function announcement({ type, attempts, state, next }: DeliveryProps["delivery"]): string {
  const last = attempts.at(-1);
  if (!last) return `${type}: no attempt has been made.`;
  const what = `${type}, attempt ${last.n} ${last.ok ? "succeeded" : "failed"}: ${resultWords(last)}.`;
  if (state === "attempting") return `${what} Another attempt is in progress.`;
  return next ? `${what} The next attempt is at ${next.at.slice(11, 19)}.` : what;
}
