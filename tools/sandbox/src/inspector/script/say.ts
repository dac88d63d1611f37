import { the } from "./dom.js";

let lastSaid = -5_000;
let timer = 0;
let sentence = "";
let rank = 0;

/**
 * Announces a sentence to screen readers, at most one every five seconds. Of the sentences that wait meanwhile,
 * announces only the most important one, or the newest of equally important ones.
 */
export function say(text: string | null | undefined, importance: number): void {
  if (!text || (sentence && rank > importance)) return;
  sentence = text;
  rank = importance;
  clearTimeout(timer);
  const wait = lastSaid + 5_000 - performance.now();
  timer = setTimeout(() => {
    the("#status").textContent = sentence;
    sentence = "";
    lastSaid = performance.now();
  }, wait);
}
