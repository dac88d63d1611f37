import type { eventDetail } from "../../../read/queries.js";
import { itemHref } from "../../page-state.js";
import type { View } from "../../view.js";
import { notSentTexts, shortUrl, upperFirst } from "../../words.js";
import { Linked, Text, Time, Verdict } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import { Track } from "../parts/track.js";
import { Id, Ids, stepsOf, Trail } from "../parts/trail.js";

type Event = ReturnType<typeof eventDetail>;

/** An event and its deliveries, or the reason why it has none. */
export const EventDetail = ({ view, event }: { view: View; event: Event }) => (
  <Piece id="about" class="about" data={event}>
    <Trail
      view={view}
      steps={[...stepsOf(view, event.call_id, event.send_id), { text: event.type }]}
    />
    <h2 id="h-detail">
      <Text of={event.type} />
    </h2>
    <Ids>
      <Id of={event.id} name="Source event" />
      <span>
        <Time at={event.at} />
      </span>
    </Ids>
    {event.not_sent !== undefined && (
      <Verdict of="none">
        <b>
          <Linked text={`${upperFirst(notSentTexts[event.not_sent])}.`} />
        </b>{" "}
        {event.not_sent === "not_emitted" ? (
          <>
            Change <a href="#A-03">A-03</a> or <a href="#A-04">A-04</a>.
          </>
        ) : (
          <>
            The types of an endpoint cannot be changed, so{" "}
            <a href="#new-endpoint">register another</a> for <code>{event.type}</code>.
          </>
        )}
      </Verdict>
    )}
    <ul class="plain">
      {event.deliveries.map((delivery) => (
        <li>
          <a href={itemHref(view.state, delivery.id)}>
            to <Text of={shortUrl(delivery.url)} />
          </a>
          <Track view={view} delivery={delivery} />
        </li>
      ))}
    </ul>
  </Piece>
);
