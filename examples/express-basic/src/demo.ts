import { parseArgs } from "node:util";
import { print, styled } from "./print.js";
import { serve } from "./serve.js";
import { runStory } from "./story.js";
import { runTakeover } from "./takeover/story.js";

const { values } = parseArgs({ options: { serve: { type: "boolean", default: false } } });

for (const scene of [runStory, runTakeover]) {
  if (!(await scene())) process.exitCode = 1;
}
if (values.serve) await serve();
else {
  print(styled("dim", "\nEvery outcome is explained in docs/outcomes.md."));
  print(styled("dim", "To send deliveries yourself: npm run demo:receiver -- --serve"));
}
