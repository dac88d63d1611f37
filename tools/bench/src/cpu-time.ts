import { readFileSync } from "node:fs";
import { pid } from "node:process";

/**
 * Returns the CPU time of the main thread so far, in milliseconds. On Linux, this leaves out helper threads, such as
 * those of the garbage collector, and the time in which the thread was ready but did not run.
 */
export function cpuTimeMs(): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    // Other systems do not report the time of a thread.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e3;
  }
}
