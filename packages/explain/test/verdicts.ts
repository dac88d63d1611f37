import { sign } from "@svc-webhooks/core";
import { explain } from "@svc-webhooks/explain";

/**
 * Returns the verdicts on signatures of a replaced secret, of JSON that was parsed and serialised again, and of
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
