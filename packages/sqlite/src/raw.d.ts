/** The text of a file. The build and Vite include it in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}
