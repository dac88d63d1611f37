/** The text of a file. The build and vite include it in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** The code of a script for browsers, in one text with all that it imports. The build makes it. */
declare module "*?script" {
  const code: string;
  export default code;
}
