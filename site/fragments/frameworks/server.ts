import { moduleOf } from "../code.js";
import type { ReceiverFragment } from "../receiver.js";

/** Returns the file that a runtime serves itself: an object with a function `fetch`. */
export const serverModule = (receiver: ReceiverFragment): string =>
  moduleOf(receiver, {
    mount: `
      export default {
        fetch(request: Request): Response | Promise<Response> {
          if (new URL(request.url).pathname === "${receiver.path}") return receiver.fetch(request);
          return new Response(null, { status: 404 });
        },
      };`,
  });
