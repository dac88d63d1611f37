import { parseArgs } from "node:util";
import { print, styled } from "./print.js";
import { serve } from "./serve.js";
import { runStory } from "./story.js";

const { values } = parseArgs({ options: { serve: { type: "boolean", default: false } } });

if (!(await runStory())) process.exitCode = 1;
if (values.serve) await serve();
else {
  print(styled("dim", "\nEvery outcome is explained in docs/outcomes.md."));
  print(styled("dim", "To send deliveries yourself: npm run demo -- --serve"));
}
