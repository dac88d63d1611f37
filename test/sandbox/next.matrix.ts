import { fileURLToPath } from "node:url";
import { nextStart } from "@svc-webhooks/kit/next";
import { testHandlesOnce } from "./handles-once.js";

testHandlesOnce(["Next.js"], () => nextStart(fileURLToPath(new URL("next", import.meta.url))));
