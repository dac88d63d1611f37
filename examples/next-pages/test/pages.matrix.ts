import { fileURLToPath } from "node:url";
import { nextDev } from "@svc-webhooks/kit/next";
import { testExample } from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

testExample(folder, "/api/webhooks", () => nextDev(folder));
