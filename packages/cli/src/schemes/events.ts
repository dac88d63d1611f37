/** The fields from which the event of any sender is made. */
export interface CommonEvent {
  readonly event_id: string;
  readonly type: string;
  readonly created_at: string;
  readonly data: object;
}

/** Returns an event in the form of a sender. */
export type Shape = (event: CommonEvent) => object;

/** Splits `Issue.create` into what most senders call the type and the action. */
function partsOf(type: string): { readonly type: string; readonly action?: string } {
  const [, first = type, action] = /^([^.]*)\.(.+)$/.exec(type) ?? [];
  return action === undefined ? { type } : { type: first, action };
}

/** Returns an event that has its id and its type wherever one of several senders has them. */
export const commonEvent: Shape = (event) => {
  const { event_id: id, type } = event;
  const { action } = partsOf(type);
  return { ...event, id, notification_id: id, event_type: type, action, event: { type } };
};

export const linearEvent: Shape = (event) => ({
  ...event,
  ...partsOf(event.type),
  webhookTimestamp: Date.now(),
});

export const discordEvent: Shape = (event) => ({ ...event, type: 1, event: { type: event.type } });

export const sendgridEvents: Shape = (event) => [{ ...event, sg_event_id: event.event_id }];
