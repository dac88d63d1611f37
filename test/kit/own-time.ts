// The real ones, even if this is first used while a test mocks timers.
const every = setInterval;
const now = performance.now.bind(performance);

const tickMs = 5;
const mostMs = 4 * tickMs;

let ownMs = 0;
let ticks: NodeJS.Timeout | undefined;

function start(): NodeJS.Timeout {
  let before = now();
  const tick = () => {
    const at = now();
    ownMs += Math.min(at - before, mostMs);
    before = at;
  };
  return every(tick, tickMs).unref();
}

/**
 * Returns the milliseconds during which this process could run. Unlike `performance.now()`, it does not advance
 * while a busy machine runs other processes: a pause counts as 20 ms.
 */
export function ownTime(): number {
  ticks ??= start();
  return ownMs;
}
