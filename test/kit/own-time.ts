const tickMs = 5;
const mostMs = 4 * tickMs;

let ownMs = 0;
let ticks: NodeJS.Timeout | undefined;

function start(): NodeJS.Timeout {
  let before = performance.now();
  const tick = () => {
    const now = performance.now();
    ownMs += Math.min(now - before, mostMs);
    before = now;
  };
  return setInterval(tick, tickMs).unref();
}

/**
 * Returns the milliseconds during which this process could run. Unlike `performance.now()`, it does not advance
 * while a busy machine runs other processes: a pause counts as 20 ms.
 */
export function ownTime(): number {
  ticks ??= start();
  return ownMs;
}
