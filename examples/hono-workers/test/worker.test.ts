import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { spawned } from "../../../test/runtimes/launch.js";
import { testExample } from "../../../test/support/examples.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

const serve = () => {
  vi.stubEnv("PORT", "0");
  return spawned(process.execPath, `${folder}start.js`);
};

testExample(folder, "/webhooks", serve, 30_000);
