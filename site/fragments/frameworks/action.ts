import { moduleOf, secretFunction } from "../code.js";
import type { ReceiverFragment } from "../receiver.js";

/** Returns the file of a resource route: its action, and its loader for GET requests. */
export const actionModule = (receiver: ReceiverFragment): string =>
  moduleOf(receiver, {
    secret: secretFunction,
    mount: `
      export const action = ({ request }: { request: Request }) => receiver.fetch(request);
      ${receiver.takesGet ? "export const loader = action;" : ""}`,
  });
