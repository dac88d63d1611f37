import { extension, pages } from "../lib/page-link.js";
import type { Advise, Explain, IsApiKey, IsDevelopment, SchemeTexts, Suggest } from "./texts.js";

/** Returns the short text of an error. The page that the error links to explains each code. */
export const explain: Explain = (_code, option) => `\`${option}\` is invalid.`;

export const advise: Advise = (code) =>
  code === "never_verified" ? "" : `${pages}docs/troubleshooting${extension}#${code} explains it.`;

export const suggest: Suggest = () => "";

export const isApiKey: IsApiKey = () => false;

export const isDevelopment: IsDevelopment = () => false;

export const intakeTexts: SchemeTexts | undefined = undefined;

export const intakeRisk = "";
