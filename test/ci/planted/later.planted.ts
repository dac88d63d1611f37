import { test } from "vitest";
import { requestTo } from "./server.js";
import { isSecondTry } from "./tries.js";

test("the server responds", () => requestTo(isSecondTry("later")));
