import { fileURLToPath } from "node:url";
import { nextStart } from "../../../test/runtimes/launch.js";
import { testExample } from "../../../test/support/examples.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

testExample(folder, "/api/webhooks", () => nextStart(folder), 120_000);
