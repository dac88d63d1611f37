import { createApp } from "./app.js";
import { print } from "./print.js";
import { signedHeaders } from "./sender.js";
import { listen } from "./server.js";
import { first, secrets } from "./steps.js";

/** Keeps the app listening until Ctrl+C, and prints a `curl` command that it accepts. */
export async function serve(): Promise<void> {
  const app = createApp(
    {
      delivered: async (emailId) => print(`  handler: ${emailId ?? "an email"} was delivered`),
      domainUpdated: async (domainName) =>
        print(`  handler: ${domainName ?? "a domain"} was updated`),
    },
    {
      secret: secrets.current,
      observe: ({ status, code, deliveryId, totalMs }) =>
        print(`  ${status} ${code} ${deliveryId ?? ""} (${totalMs.toFixed(1)} ms)`),
    },
  );
  const { url } = await listen(app);
  const headers = Object.entries(await signedHeaders(first));
  print(`\nListening on ${url}/webhooks until Ctrl+C.`);
  print("In another terminal, send this signed delivery twice:\n");
  print(`curl -i ${url}/webhooks \\`);
  for (const [name, value] of headers) print(`  -H '${name}: ${value}' \\`);
  print(`  -d '${first.body}'\n`);
}
