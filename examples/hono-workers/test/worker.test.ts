import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { spawned } from "@svc-webhooks/kit/launch";
import { testExample } from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

const serve = () => {
  vi.stubEnv("PORT", "0");
  return spawned(process.execPath, `${folder}start.js`);
};

testExample(folder, "/webhooks", serve);
