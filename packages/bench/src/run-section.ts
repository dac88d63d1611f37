import type { RunSection } from "./sections.js";

// A separate process keeps its compiled code and heap from affecting other sections.
const [id = "", pace] = process.argv.slice(2);
const { run } = (await import(`./sections/${id}.js`)) as { readonly run: RunSection };
process.send?.(await run(pace === "quick"));
process.disconnect?.();
