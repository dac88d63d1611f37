import type { RunSection } from "./sections.js";

// Each section runs in its own process, so that its compiled code and heap do not affect the others.
const [id = "", pace] = process.argv.slice(2);
const { run } = (await import(`./sections/${id}.js`)) as { readonly run: RunSection };
process.send?.(await run(pace === "quick"));
process.disconnect?.();
