import { webhooks } from "svc-webhooks/next/pages";
import { receiver } from "@/lib/receiver";

// Next.js reads `config` only from this file. Without it, the body parser discards the signed bytes.
export const config = { api: { bodyParser: false } };

export default webhooks(receiver);
