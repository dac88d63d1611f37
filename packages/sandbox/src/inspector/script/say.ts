import { the } from "./dom.js";

let lastSaid = -5_000;
let timer = 0;
let sentence = "";
let rank = 0;

/** Announces at most one sentence every five seconds to screen readers: the most important one. */
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
