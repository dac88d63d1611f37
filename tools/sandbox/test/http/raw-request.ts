import { request } from "node:http";
import { connect } from "node:net";

export interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends headers that `fetch` does not allow. Reads only the first chunk of a stream. */
export const raw = (
  url: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Raw> =>
  new Promise<Raw>((resolve, reject) => {
    const sent = request(url + path, { method, headers }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
        if (path.endsWith("/stream")) end();
      });
      response.on("end", () => end());
      const end = () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        sent.destroy();
      };
    });
    sent.on("error", reject);
    sent.end();
  });

/** Sends a request written as lines of text, and returns the first line of the response. */
export const lines = (port: number, ...text: readonly string[]): Promise<string> =>
  new Promise<string>((resolve) => {
    let response = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(`${text.join("\r\n")}\r\n\r\n`));
    socket.on("data", (chunk) => {
      response += chunk.toString();
      socket.destroy();
    });
    socket.on("close", () => resolve(response.split("\r\n")[0] ?? ""));
  });
