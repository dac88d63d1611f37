// The connection of the server to the demo; a real server has none of this.

/** Reports something to the demo. */
export const report = (message) => process.send?.(message);

let rows = 0;

/** Counts a row that is written but not committed. The server of the demo kills itself in the middle of the load. */
export function written() {
  rows += 1;
  // No other process could kill it here, because a transaction is synchronous.
  if (process.connected && String(rows) === process.env.DIES_AT) {
    process.kill(process.pid, "SIGKILL");
  }
}

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
