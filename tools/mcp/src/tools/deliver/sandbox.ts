import type { Client } from "@svc-webhooks/client";
import { followDeliveries } from "@svc-webhooks/cli/workbench";
import { Refusal } from "../../refusal.js";
import type { World } from "../../world.js";
import { activeEndpoint } from "../endpoints.js";
import { findDelivery } from "../find-delivery.js";
import type { DeliveryMode, DeliveryTamper } from "./modes.js";

interface Input {
  readonly mode: DeliveryMode;
  readonly tamper: DeliveryTamper;
  readonly endpoint?: string | undefined;
  readonly event_id?: string | undefined;
}

/** Makes a sandbox deliver in the given mode: events of new test emails, or copies of an earlier delivery. */
export async function throughSandbox({ service }: World, input: Input, signal: AbortSignal) {
  await service.call(async (client) => {
    const endpoint = await activeEndpoint(client, input.endpoint, signal);
    await actions[input.mode](client, { ...input, endpoint }, signal);
  }, signal);
  return {
    ok: true,
    code: "delivery_started",
    happened: happened[input.mode],
    facts: { to: "sandbox" as const, responses: [] },
    next_step:
      input.mode === "tampered"
        ? "Call timeline until it lists the attempt as tampered. Its status must be a 4xx."
        : "Call wait_for to see how the deliveries end.",
  };
}

const happened: Readonly<Record<DeliveryMode, string>> = {
  signed: "The sandbox accepted a test email and delivers its events.",
  tampered: "The sandbox is sending a tampered copy of the delivery.",
  duplicate: "The sandbox is sending the delivery twice more at the same time.",
  reordered: "The sandbox holds the next two deliveries and releases them in reverse order.",
};

type Act = (
  client: Client,
  input: Input & { readonly endpoint: string },
  signal: AbortSignal,
) => Promise<void>;

const sendEmail: Act = async (client, _input, signal) => {
  await client.request("POST", "/_sandbox/test-email", { body: {} }, { signal });
};

/** Returns an action that sends an earlier delivery again: the one with `event_id`, by default the newest. */
const sendAgain =
  (bodyOf: (input: Input) => object): Act =>
  async (client, input, signal) => {
    const id = await deliveryIdOf(client, input, signal);
    // Replaces lone surrogates, for which `encodeURIComponent` throws. Another service may return such an id.
    const segment = encodeURIComponent(Buffer.from(id).toString());
    const path = `/_sandbox/deliveries/${segment}/send` as const;
    await client.request("POST", path, { body: bodyOf(input) }, { signal });
  };

const actions: Readonly<Record<DeliveryMode, Act>> = {
  signed: sendEmail,
  tampered: sendAgain(({ tamper }) => ({ tamper })),
  duplicate: sendAgain(() => ({ times: 2, concurrent: true })),
  async reordered(client, input, signal) {
    const body = { target: input.endpoint, kind: "reorder", times: 2 };
    await client.request("POST", "/_sandbox/faults", { body }, { signal });
    await sendEmail(client, input, signal);
    await sendEmail(client, input, signal);
  },
};

async function deliveryIdOf(
  client: Client,
  { endpoint, event_id }: Input,
  signal: AbortSignal,
): Promise<string> {
  const delivery = await findDelivery(followDeliveries(client, endpoint, signal)(), { event_id });
  if (delivery) return delivery.delivery_id;
  throw new Refusal(
    "no_delivery",
    event_id === undefined
      ? "The sandbox has made no delivery to the endpoint yet."
      : "The newest deliveries to the endpoint do not include this event_id.",
    "Call deliver with the mode signed and then wait_for, or set `event_id` to one from timeline.",
  );
}
