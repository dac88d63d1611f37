import type { CrashTestReport } from "./report.js";
import { kindText } from "./text.js";

/**
 * Returns a line for each finding that GitHub Actions shows next to the code.
 *
 * @param again the instruction that repeats a history, such as `only: "crash@3"`
 */
export const annotationsOf = (
  { findings }: Pick<CrashTestReport, "findings">,
  again: (repeat: string) => string,
): readonly string[] =>
  findings.map(({ kind, effect, source, advice, repeat }) => {
    const [, file, line] = /^(.*):(\d+)$/.exec(source ?? "") ?? [];
    const place = file === undefined ? "" : `file=${property(file)},line=${line},`;
    const text = repeat === "" ? advice : `${advice} Repeat: ${again(repeat)}`;
    return `::error ${place}title=${property(`${kindText(kind)} ${effect}`)}::${data(text)}`;
  });

const data = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
