import { parseArgs } from "node:util";
import { print, styled } from "./print.js";
import { serve } from "./serve.js";
import { runStory } from "./story.js";
import { startProcesses } from "./takeover/processes.js";
import { runTakeover } from "./takeover/story.js";

const { values } = parseArgs({ options: { serve: { type: "boolean", default: false } } });

// The processes start during the first scene.
const processes = startProcesses();
for (const scene of [runStory, () => runTakeover(processes)]) {
  if (!(await scene())) process.exitCode = 1;
}
if (values.serve) await serve();
else {
  print(styled("dim", "Every outcome is explained in docs/outcomes.md."));
  print(styled("dim", "To send deliveries yourself: npm run demo -- receiver --serve"));
}
