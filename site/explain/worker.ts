import { explain } from "@svc-webhooks/explain";
import { explainRequest } from "@svc-webhooks/explain/senders";
import type { Answer, Question } from "./question.js";

const ed25519 = ["discord", "standard-webhooks-ed25519"] as const;

/** Returns whether this browser can verify Ed25519 signatures. Not every supported browser can. */
const hasEd25519 = async (): Promise<boolean> =>
  crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]).then(
    () => true,
    () => false,
  );

async function answerTo(question: Question): Promise<Answer> {
  if (question.kind === "service") {
    return { kind: "service", explanation: await explain(question.request) };
  }
  const scheme = ed25519.find((one) => one === question.request.scheme);
  if (scheme && !(await hasEd25519())) {
    const text = `This browser cannot verify Ed25519 signatures. Use a newer browser, or run svc-webhooks verify --scheme ${scheme} --explain.`;
    return { kind: "error", option: "scheme", text };
  }
  return { kind: "sender", explanation: await explainRequest(question.request) };
}

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  void answerTo(data)
    .catch((error: unknown): Answer => {
      const { option, message } = error as { readonly option?: string; readonly message?: string };
      return { kind: "error", option, text: message ?? String(error) };
    })
    .then((answer) => postMessage(answer));
});
