import { intakeContract } from "@svc-webhooks/kit/intake-rows";
import { afterAll, beforeAll } from "vitest";
import { cloud, type Cloud } from "./support.js";

let made: Cloud;
beforeAll(async () => {
  made = await cloud();
});
afterAll(() => made.close());

intakeContract("Durable Objects", () => made);
