/** An import with `?raw` is the text of the file, which the build and Vite include in the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}
