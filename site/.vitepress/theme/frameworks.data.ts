import { frameworks } from "../../fragments/frameworks.js";

export type Frameworks = readonly { readonly name: string; readonly title: string }[];

export declare const data: Frameworks;

export default {
  load: (): Frameworks => frameworks.map(({ name, title }) => ({ name, title })),
};
