import { attemptDetail, sendDetail } from "../../control/queries.js";
import { shownAttempt } from "../page-state.js";
import { nowOf, type View } from "../view.js";
import { visibleText } from "../visible.js";
import { resultWords, shortUrl } from "../words.js";
import { Action } from "./action.js";
import { Assumed, Icon, Key, Text, Time } from "./elements.js";
import { Piece } from "./piece.js";
import { Mail } from "./send.js";
import { Signature } from "./signature.js";
import { Countdown } from "./track.js";
import { Id, Ids, stepsOf, Trail } from "./trail.js";
import type { DeliveryProps, DeliveryWhole } from "./delivery-props.js";
import { Actions } from "./delivery-actions.js";
import { Attempts } from "./attempts.js";
import { Answer, Request } from "./exchange.js";

/** An event on its way to one endpoint, and one of its attempts. */
export const DeliveryDetail = async ({ view, delivery }: DeliveryProps) => {
  const { service, state } = view;
  const full = state.full === "true";
  const n = shownAttempt(state, delivery.attempts.length);
  const attempt = n > 0 ? await attemptDetail(service, delivery.id, String(n), full) : undefined;
  const send =
    delivery.send_id !== undefined && service.state.sends.get(delivery.send_id)
      ? sendDetail(service, delivery.send_id, full)
      : undefined;
  return (
    <>
      <About view={view} delivery={delivery} />
      <Actions view={view} delivery={delivery} attempt={attempt} />
      <Attempts view={view} delivery={delivery} current={n} />
      {attempt && (
        <>
          <Signature view={view} delivery={delivery} attempt={attempt} />
          <Answer view={view} attempt={attempt} />
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

const About = ({ view, delivery }: DeliveryProps) => {
  const { type, url, next, state } = delivery;
  const about = [delivery.attempts.length, state, next, delivery.delivery_id];
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
            <Action view={view} name="skip" with={{ id: delivery.id }}>
              <button>Skip</button>
            </Action>
          </div>
          <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="rest" width="100" height="4" />
            <rect
              class="done"
              width={String(progress(view, delivery))}
              height="4"
              data-from={Date.parse(delivery.attempts.at(-1)?.started_at ?? delivery.created_at)}
              data-to={Date.parse(next.at)}
            />
          </svg>
        </div>
      )}
      {state === "attempting" && (
        <p class="verdict none">
          <Icon of="half" />
          <span>An attempt is being sent.</span>
        </p>
      )}
    </Piece>
  );
};

function progress(view: View, { attempts, created_at: created, next }: DeliveryWhole): number {
  const from = Date.parse(attempts.at(-1)?.started_at ?? created);
  const to = Date.parse(next?.at ?? created);
  return to <= from
    ? 100
    : Math.min(100, Math.max(0, Math.round(((nowOf(view) - from) / (to - from)) * 100)));
}

/** What a screen reader reports when it changes. */
function announcement({ type, attempts, state, next }: DeliveryWhole): string {
  const last = attempts.at(-1);
  if (!last) return `${type}: no attempt has been made.`;
  const what = `${type}, attempt ${last.n} ${last.ok ? "succeeded" : "failed"}: ${resultWords(last)}.`;
  if (state === "attempting") return `${what} Another attempt is being sent.`;
  return next ? `${what} The next attempt is at ${next.at.slice(11, 19)}.` : what;
}
