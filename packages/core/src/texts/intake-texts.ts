import type { SchemeTexts } from "./texts.js";

/** The texts for events of an intake or a guard, which arrive by a call and not by a request. */
export const intakeTexts: SchemeTexts | undefined = {
  delivery_id_missing: [
    "The event has no id.",
    "The member `id` of the call is absent or not text.",
    "Pass the sender's own id of the event. Nothing else identifies its copies.",
  ],
  delivery_id_malformed: [
    "The id of the event must be 1 to 256 visible ASCII characters without commas.",
    "The member `id` of the call is not the sender's id, or contains several.",
    "Pass the sender's own id of the event, or a hash of it.",
  ],
  malformed_body: [
    "The body is not a JSON object in UTF-8.",
    "The member `body` of the call is absent, a list, or text of another format.",
    "Pass an object, or accept each event of a list with `acceptAll`.",
  ],
  event_untyped: [
    "The event has no type, or its type contains control characters.",
    "The member `type` of the call is absent or unusable, and `eventType` finds no type in the body.",
    "Pass the `type`, or set the option `eventType`.",
  ],
  body_too_large: [
    "The body is larger than `maxBodyBytes`.",
    "The sender's events are larger than expected, or the call passes more than the event.",
    "Raise `maxBodyBytes`, or pass less.",
  ],
};

/** Ends the notice that an intake or a guard logs when it is built. */
export const intakeRisk =
  " Pass only events that your own code has verified, or whose channel only their sender can write to.";
