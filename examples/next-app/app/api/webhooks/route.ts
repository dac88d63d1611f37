import { webhooks } from "svc-webhooks/next";
import { receiver } from "@/lib/receiver";

export const { POST } = webhooks(receiver);
