// @ts-check
// Loads each entry that is named on the command line in both formats, and prints the differences.
const path = require("node:path");

async function main() {
  for (const entry of process.argv.slice(2)) {
    const imported = Object.keys(await import(entry)).filter((name) => name !== "module.exports");
    const required = Object.keys(require(entry));
    const same = imported.toSorted().join() === required.toSorted().join();
    const format = path.extname(require.resolve(entry));
    const found = same ? imported.length > 0 : `${imported.join()} ≠ ${required.join()}`;
    console.log(entry, format, found);
  }
}

void main();
