import { webhooks } from "@svc-webhooks/next";
import { createInbox } from "../../../../inboxes.ts";

const { receiver, control } = createInbox("envelope");

export const { POST } = webhooks(receiver);
export { control as GET, control as PUT, control as PATCH, control as DELETE };
