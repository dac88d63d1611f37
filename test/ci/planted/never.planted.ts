import { test } from "vitest";
import { requestTo } from "./server.js";

test("the server responds", () => requestTo(false));
