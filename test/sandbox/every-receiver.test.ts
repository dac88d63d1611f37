import { testHandlesOnce } from "./handles-once.js";
import { everyPlatform, start } from "./receivers.js";

testHandlesOnce(everyPlatform, start);
