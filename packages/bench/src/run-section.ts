import type { RunSection } from "./sections.js";

// A separate process: its compiled code and heap do not affect other sections.
const [id = "", pace] = process.argv.slice(2);
const { run } = (await import(`./sections/${id}.js`)) as { readonly run: RunSection };
process.send?.(await run(pace === "quick"));
process.disconnect?.();
