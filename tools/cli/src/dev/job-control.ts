import { hasGroups, type Group } from "./group.js";

/**
 * Suspends and resumes the app together with this process, as Ctrl-Z and `fg` would if the app were in the
 * terminal's session.
 *
 * @returns a function that stops following
 */
export function followJobControl({ suspend, resume }: Group): () => void {
  if (!hasGroups) return () => {};
  const stop = () => {
    suspend();
    process.kill(process.pid, "SIGSTOP");
  };
  process.on("SIGTSTP", stop).on("SIGCONT", resume);
  return () => void process.off("SIGTSTP", stop).off("SIGCONT", resume);
}
