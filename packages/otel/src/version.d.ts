/** The version in the imported package.json. The build inserts it. */
declare module "*?version" {
  const version: string;
  export default version;
}
