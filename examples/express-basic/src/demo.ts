import { parseArgs } from "node:util";
import { serve } from "./serve.js";
import { tellStory } from "./story.js";

const { values } = parseArgs({ options: { serve: { type: "boolean", default: false } } });

if (!(await tellStory())) process.exitCode = 1;
if (values.serve) await serve();
