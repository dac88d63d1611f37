/** The text of a file, which the build includes in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** The code of a script for browsers, bundled with all its imports by the build. */
declare module "*?script" {
  const code: string;
  export default code;
}
