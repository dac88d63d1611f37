import { sign } from "@svc-webhooks/core";
import { explain } from "@svc-webhooks/explain";
import { explainRequest } from "@svc-webhooks/explain/senders";
import { senders } from "@svc-webhooks/schemes/senders";

/**
 * Returns the verdicts on signatures of a replaced secret, of JSON that was parsed and serialized again, and of
 * no known mistake.
 */
export async function verdicts(): Promise<readonly string[]> {
  const body = new TextEncoder().encode('{ "type": "email.sent" }');
  const signatures = [
    await sign(body, "whsec_old"),
    await sign('{"type":"email.sent"}', "whsec_test"),
    await sign(body, "whsec_unknown"),
  ];
  const explained = await Promise.all(
    signatures.map((signature) =>
      explain({ body, signature, secrets: "whsec_test", previousSecrets: ["whsec_old"] }),
    ),
  );
  return explained.map(({ verdict, mistake }) => mistake?.id ?? verdict);
}

/** Returns the mistakes in requests of senders: with HMAC, with a public key, and with the header of an old hash. */
export async function senderVerdicts(): Promise<readonly string[]> {
  const text = '{"id":"evt_1","type":"x"}';
  const body = new TextEncoder().encode(`${text}\n`);
  const stripe = await senders.stripe.testKeys();
  const discord = await senders.discord.testKeys();
  const sha1 = "0000000000000000000000000000000000000000";
  const requests = [
    { scheme: "stripe", ...stripe, headers: await senders.stripe.sign(text, stripe) },
    {
      scheme: "discord",
      ...discord,
      headers: await senders.discord.sign(text, { secret: discord.signingSecret }),
    },
    { scheme: "github", ...stripe, headers: { "X-Hub-Signature": `sha1=${sha1}` } },
  ] as const;
  const explained = await Promise.all(
    requests.map(({ headers, ...request }) =>
      explainRequest({ ...request, body, headers: Object.entries(headers) }),
    ),
  );
  return explained.map(({ mistake }) => mistake?.id ?? "unknown");
}
