import { isSectionId, sections } from "./sections.js";

// A process of its own for each section: what one has compiled and allocated is not another's.
const [id = "", pace] = process.argv.slice(2);
if (!isSectionId(id)) throw new Error(`no section ${id}`);
const run = await sections[id]();
process.send?.(await run({ quick: pace === "quick" }));
process.disconnect?.();
