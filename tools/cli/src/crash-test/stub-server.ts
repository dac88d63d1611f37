import type { HttpRequest, HttpResponse } from "./proxies/http.js";

const content = Buffer.from("{}");

/** Responds as a service that accepts everything: 200 with `{}`. */
export const respondAsStub = (_request: HttpRequest): Promise<HttpResponse> =>
  Promise.resolve({
    status: 200,
    headers: ["Content-Type", "application/json"],
    body: content,
  });
