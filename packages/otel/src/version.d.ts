/** The version in a package.json, which the build inserts. */
declare module "*?version" {
  const version: string;
  export default version;
}
