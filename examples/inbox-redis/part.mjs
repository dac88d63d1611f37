// The connection of a process to the demo; a real process has none of this.

/** Reports something to the demo. */
export const report = (message) => process.send?.(message);

/** Reports the email whose effect a handler has written. The demo may kill the process there. */
export async function written(emailId) {
  if (!process.connected) return;
  report({ emailId });
  if (process.env.STOPS_AT === emailId) await new Promise(() => {});
}

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
