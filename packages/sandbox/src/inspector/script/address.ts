/** The address of the page is its state. */
export const address = {
  /** The parameters of the address, except `done`, which belongs to one response. */
  query: new URLSearchParams(),
  /** Increases with each change of the address: responses to earlier requests are dropped. */
  generation: 0,
};

export function setAddress(query: string, hash = ""): void {
  address.query = new URLSearchParams(query);
  address.query.delete("done");
  history.replaceState(null, "", (address.query.size ? `/?${address.query}` : "/") + hash);
}
