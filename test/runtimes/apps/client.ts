import { createClient, isSvcError } from "@svc-webhooks/client";

/** An API key in the real format, so that tests find it in a console's output. */
export const apiKey = "svc_live_0123456789abcdef";

/** The results of the client's calls inside a runtime. */
export interface ClientResults {
  /** The number of attempts for an email whose first responses were lost. */
  readonly attempts: number;
  readonly hasKey: boolean;
  readonly eventTypes: readonly string[];
  readonly error: Readonly<Record<string, unknown>>;
  readonly shown: readonly string[];
  /** The signing secret. */
  readonly secret: string;
}

export const expectedResults: Omit<ClientResults, "attempts" | "secret"> = {
  hasKey: true,
  eventTypes: ["email.sent", "email.delivered", "domain.updated"],
  error: { name: "NotFoundError", code: "not_found", status: 404, param: "send_id", attempts: 1 },
  shown: ["[object Secret]", '"[object Secret]"'],
};

/** Calls the service of `?service=` with the client; with `&prints=`, prints a result and an error. */
export async function clientApp(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const baseUrl = searchParams.get("service") ?? "";
  const client = createClient({ apiKey, baseUrl });

  const sending = client.emails.send({
    from: "shop@example.test",
    to: ["ada@example.test"],
    subject: "Your receipt",
    text: "Thank you.",
  });
  const { result, response } = await sending.withResponse();

  const eventTypes: string[] = [];
  for await (const { type } of client.webhookEventTypes.list()) eventTypes.push(type);

  const error: unknown = await client.sends.get("send_unknown").catch((reason: unknown) => reason);
  if (!isSvcError(error)) throw new Error("The error is not the client's.", { cause: error });
  const { name, code, status, param, attempts } = error;

  const created = await client.webhookEndpoints.create({
    url: "http://localhost:9/webhooks",
    event_types: ["email.sent"],
  });
  if (searchParams.has("prints")) console.log(created, created.secret, error, "Printed.");
  return Response.json({
    attempts: response.attempts,
    hasKey: result.idempotencyKey !== "",
    eventTypes,
    error: { name, code, status, param, attempts },
    shown: [String(created.secret), JSON.stringify(created.secret)],
    secret: created.secret.reveal(),
  } satisfies ClientResults);
}
