/*
 * Decides which failed files of `.ci/run` run again. The shapes of results are in `results-reporter.ts`.
 */

/**
 * The errors that a machine can cause without a fault in the code. A file runs again only if each of its errors is
 * in this list.
 */
const excuses = [
  // A helper of the kit gave up waiting.
  ({ name }) => name === "GaveUpError",
  // A process or a server did not start.
  ({ name }) => name === "NotStartedError",
  // Another process took the port.
  ({ code }) => code === "EADDRINUSE",
  // The browser was lost: Playwright's error for a page that ends before its test has no name of its own.
  ({ message }) => /Target (?:page, context or browser has been closed|crashed)/.test(message),
];

const isExcused = (failure) => excuses.some((matches) => matches(failure));

/** The number of files in a run that may run again. */
export const mostFiles = 2;

/** The milliseconds that they may take together. Tests set the variable. */
export const mostMs = Number(process.env.SVC_SECOND_LOOKS_MS ?? 5 * 60_000);

/** Returns the line of a failed file: `flaky: packages/x/test/y.test.ts › title: the first error`. */
export function lineOf(word, file, { title, message }) {
  const place = [file, title].filter(Boolean).join(" › ");
  return `${word}: ${place}: ${message.replaceAll(/\s+/g, " ").slice(0, 300)}`;
}

/**
 * Returns the files of a suite that may run again, and a line for each fault, after which the run is red in any case.
 *
 * @param results undefined if Vitest ended before it wrote them
 */
export function judge(results, exitCode) {
  if (results === undefined) {
    return { again: [], faults: [`red: Vitest exited with ${exitCode} before it wrote results`] };
  }
  const failed = results.files.filter(({ failures }) => failures.length > 0);
  const silent = results.files.filter((one) => one.failed > 0 && one.failures.length === 0);
  const again = failed.filter(({ failures }) => failures.every(isExcused));
  const faults = [
    ...failed.flatMap(({ file, failures }) =>
      failures.filter((one) => !isExcused(one)).map((one) => lineOf("red", file, one)),
    ),
    ...silent.map(({ file }) => `red: ${file}: a test failed without an error`),
    ...results.unhandled.map((message) => `red: an error outside of tests: ${message}`),
  ];
  if (exitCode !== 0 && failed.length === 0 && faults.length === 0) {
    faults.push(`red: Vitest exited with ${exitCode}, and no test failed`);
  }
  return { again, faults };
}
