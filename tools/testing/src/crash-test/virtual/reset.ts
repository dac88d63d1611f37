/** Creates the error of a connection that the other side has reset, as Node reports it. */
export const connectionReset = (message = "read ECONNRESET"): Error =>
  Object.assign(new Error(message), { code: "ECONNRESET" });
