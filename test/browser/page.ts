import { createReceiver } from "@svc-webhooks/core";
import { signedRequest } from "@svc-webhooks/testing";
import { portable } from "../runtimes/apps/portable.js";

const receiver = createReceiver({ secret: "whsec_test", on: { "*": () => {} } });
const request = await signedRequest({ type: "email.sent" });
const { status } = await receiver.fetch(request);
const failures = await portable();
Object.assign(globalThis, { result: { status, failures } });
