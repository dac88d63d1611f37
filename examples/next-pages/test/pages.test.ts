import { fileURLToPath } from "node:url";
import { nextDev } from "../../../test/runtimes/launch.js";
import { testExample } from "../../../test/support/examples.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

testExample(folder, "/api/webhooks", () => nextDev(folder), 120_000);
