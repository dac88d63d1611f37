import type { Question } from "./form.js";
import type { Answer } from "./result.js";
// The bundler adds the export.
// oxlint-disable-next-line import/default
import workerUrl from "./worker.ts?worker&url";

/** Explains requests in a worker, so that the page responds to input while digests are computed. */
export interface Explainer {
  /** Ends the run before, if it has not finished, and calls `done` with the result of this one. */
  readonly run: (question: Question, done: (answer: Answer) => void) => void;
  /** Ends the run. */
  readonly stop: () => void;
}

/**
 * Loads the worker's script once, so that no run makes a request. A worker that starts from a blob has the page's
 * content security policy. One that starts from an address would have only that of the server's headers, and
 * static hosts send none.
 */
export async function loadExplainer(): Promise<Explainer> {
  const url = await sourceOf(workerUrl);
  let worker: Worker | undefined;
  const stop = () => {
    worker?.terminate();
    worker = undefined;
  };
  return {
    stop,
    run(question, done) {
      stop();
      const own = new Worker(url, { type: "module" });
      worker = own;
      const end = (answer: Answer) => {
        // A message may still arrive after the next run has started.
        if (worker !== own) return;
        stop();
        done(answer);
      };
      own.addEventListener("message", ({ data }: MessageEvent<Answer>) => end(data));
      own.addEventListener("error", ({ message }) =>
        end({
          option: undefined,
          error: `The explanation failed: ${message || "the worker could not start"}. Reload the page and try again.`,
        }),
      );
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- only windows have one
      own.postMessage(question);
    },
  };
}

async function sourceOf(url: string): Promise<string> {
  // The development server's modules import others by their address.
  if (import.meta.env.DEV) return url;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  const script = new Blob([await response.text()], { type: "text/javascript" });
  return URL.createObjectURL(script);
}
