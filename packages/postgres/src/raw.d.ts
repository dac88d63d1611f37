/** The text of a file. The build and vite include it in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}
