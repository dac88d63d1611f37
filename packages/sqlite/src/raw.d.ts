/** An import that ends with `?raw` is the text of the file. The build and Vite insert the text into the module. */
declare module "*?raw" {
  const text: string;
  export default text;
}
