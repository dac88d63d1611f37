import { ApiError } from "../../errors.js";
import * as queries from "../../read/queries.js";
import type { View } from "../view.js";
import { CallDetail } from "./items/call.js";
import { DeliveryDetail } from "./delivery/delivery.js";
import { EventDetail } from "./items/event.js";
import { Missing } from "./items/missing.js";
import { SendDetail } from "./items/send.js";
import { Start } from "./items/start.js";

/** The details of the item that the URL selects. */
export const Detail = ({ view }: { view: View }) => {
  const { item, attempt } = view.state;
  return (
    <article
      class="panel detail"
      id="detail"
      aria-labelledby="h-detail"
      tabindex={-1}
      data-scope={`${item ?? ""} ${attempt ?? ""}`}
    >
      {item === undefined ? <Start view={view} /> : <Item view={view} id={item} />}
    </article>
  );
};

const Item = ({ view, id }: { view: View; id: string }) => {
  const { service, state } = view;
  const full = state.full === "true";
  try {
    if (id.startsWith("call_"))
      return <CallDetail view={view} call={queries.callDetail(service, id, full)} />;
    if (id.startsWith("send_"))
      return <SendDetail view={view} send={queries.sendDetail(service, id, full)} />;
    if (id.startsWith("src_"))
      return <EventDetail view={view} event={queries.eventDetail(service, id)} />;
    return <DeliveryDetail view={view} delivery={queries.deliveryDetail(service, id, full)} />;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return <Missing view={view} id={id} error={error} />;
  }
};
