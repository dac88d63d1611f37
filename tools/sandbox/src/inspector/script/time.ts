import { countdownText, passedPercent } from "../countdown.js";
import { all, clockText, the } from "./dom.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** The sandbox's time `now` at the page's time `at`, and the clock's speed. */
let clock = { now: 0, at: 0, speed: 0 };
const inView = new Set<HTMLElement>();
let timer = 0;

/** Sets the page's clock. @param element the clock as the server has rendered it */
export function setClock(element: HTMLElement | null): void {
  if (!element) return;
  const { now, speed } = element.dataset;
  clock = { now: Number(now), at: performance.now(), speed: Number(speed) };
  tick();
}

/**
 * Updates the clock, the progress bars and the countdowns in view, and schedules the next update in a second. Schedules
 * it in 100 ms if a countdown in view has less than ten real seconds left and the user does not prefer reduced motion.
 * Schedules none if the clock stands still or the tab is hidden.
 */
export function tick(): void {
  clearTimeout(timer);
  const now = clock.now + (performance.now() - clock.at) * clock.speed;
  let isClose = false;
  for (const element of inView) {
    const left = Number(element.dataset.due) - now;
    isClose ||= left > 0 && left < 10_000 * clock.speed;
    element.textContent = countdownText(left, still.matches);
  }
  for (const bar of all<SVGElement>("[data-from]")) {
    const { from, to } = bar.dataset;
    bar.setAttribute("width", String(passedPercent(now, Number(from), Number(to))));
  }
  the("#clock time").textContent = clockText(now);
  if (clock.speed && !document.hidden)
    timer = setTimeout(tick, isClose && !still.matches ? 100 : 1_000);
}

/** Tracks which countdowns are in view, because only those are updated. */
export const countdowns = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries)
    inView[isIntersecting ? "add" : "delete"](target as HTMLElement);
  tick();
});
