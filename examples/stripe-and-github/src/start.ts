import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { secrets, signedSteps, type Step } from "./steps.js";

const print = (line = "") => void process.stdout.write(`${line}\n`);

let effect = "";
let code = "";
const app = createApp(
  {
    paid: (invoice) => (effect = `paid: ${JSON.stringify(invoice)}`),
    opened: (issue) => (effect = `opened: ${JSON.stringify(issue)}`),
  },
  secrets,
  {
    observe: (report) => (code = report.code),
    // The table shows every refusal.
    logger: { info() {}, warn() {}, error: print },
  },
);
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

print(`\nAn Express app listens on ${origin}: one receiver for each sender.`);

let path = "";
let passed = 0;
const steps = await signedSteps(Date.now());
for (const step of steps) {
  if (step.path !== path) print(`\n  ${(path = step.path)}`);
  // The steps run one after the other: later ones depend on earlier ones.
  if (await play(step)) passed += 1;
}
server.close();
server.closeAllConnections();
print(`\n${passed} of ${steps.length} requests ended as expected.`);
if (passed < steps.length) process.exitCode = 1;

/** Sends one request and prints its outcome. Resolves to whether it is the expected one. */
async function play({ title, headers, body, expected }: Step): Promise<boolean> {
  effect = "";
  const { status } = await fetch(origin + path, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  const isExpected = code === expected;
  print(`${isExpected ? "✓" : "✗"} ${title.padEnd(27)}${status}  ${code}`);
  if (effect) print(`  ${effect}`);
  return isExpected;
}
