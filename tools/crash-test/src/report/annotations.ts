import type { CrashTestReport } from "./report.js";
import { titleOf } from "./text.js";
import { functionWords, type Words } from "./words.js";

/** Returns a line for each finding. GitHub Actions shows these lines next to the code. */
export const annotationsOf = (
  { findings }: Pick<CrashTestReport, "findings">,
  words: Words = functionWords,
): readonly string[] =>
  findings.map((finding) => {
    const { source, advice, repeat } = finding;
    const [, file, line] = /^(.*):(\d+)$/.exec(source ?? "") ?? [];
    const place = file === undefined ? "" : `file=${property(file)},line=${line},`;
    const text = repeat === "" ? advice : `${advice} Repeat: ${words.repeat(repeat)}`;
    return `::error ${place}title=${property(titleOf(finding))}::${data(text)}`;
  });

const data = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const property = (text: string): string => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
