/** The text of a file, which the build and vite include in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}
