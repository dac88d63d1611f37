import { webhooks } from "@svc-webhooks/next/pages";
import { receiver } from "@/lib/receiver";

// Next.js reads it from this file only. Without it the body is parsed, and the signed bytes are gone.
export const config = { api: { bodyParser: false } };

export default webhooks(receiver);
