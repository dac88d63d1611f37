import { service, type Sender } from "@svc-webhooks/schemes/senders";

/** The values of the fields, as they are in the page. */
export interface Form {
  readonly sender: Sender["name"];
  readonly body: string;
  readonly isBase64: boolean;
  readonly file: File | undefined;
  /** The value of `X-SVC-Signature`. */
  readonly signature: string;
  /** The headers of another sender, one per line. */
  readonly headers: string;
  /** The time of arrival, or empty for now. */
  readonly at: string;
  readonly secret: string;
  /** Secrets that were replaced, one per line. */
  readonly previous: string;
  /** Secrets of other endpoints, one per line. */
  readonly others: string;
}

export type Field = keyof Form;

export const emptyForm: Form = {
  sender: "service",
  body: "",
  isBase64: false,
  file: undefined,
  signature: "",
  headers: "",
  at: "",
  secret: "",
  previous: "",
  others: "",
};

/** A message to the worker: a request as it arrived, and the secrets of its receiver. */
export interface Question {
  readonly sender: Sender["name"];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The time of arrival, in epoch milliseconds. */
  readonly at: number;
  readonly secret: string;
  readonly previousSecrets: readonly string[];
  /** The secrets of other endpoints. Empty unless the sender is the service. */
  readonly otherSecrets: readonly string[];
}

/** The errors of the fields, in the order of the page. */
export type FieldErrors = Partial<Record<Field, string>>;

/** The largest body. `explain` does not check how a larger one was changed. */
export const mostBytes = 4_194_304;

const tooLarge = (bytes: number) =>
  `The body has ${bytes} bytes. This page explains bodies of at most ${mostBytes} bytes. For a larger one, run svc-webhooks verify --explain.`;

/** A field's value, or the error to show next to it. */
type Read<Value> = { readonly value: Value } | { readonly error: string };

/** Reads the form. Resolves to the question for the worker, or to the errors of the fields. */
export async function questionOf(
  form: Form,
): Promise<{ readonly question: Question } | { readonly errors: FieldErrors }> {
  const isService = form.sender === "service";
  const body = await bodyOf(form);
  const headers = isService ? signatureOf(form.signature) : headersOf(form.headers);
  const at = timeOf(isService ? "" : form.at);
  const secret = secretOf(form.secret);
  const previous = secretsOf(form.previous);
  const others = secretsOf(isService ? form.others : "");
  if (
    "value" in body &&
    "value" in headers &&
    "value" in at &&
    "value" in secret &&
    "value" in previous &&
    "value" in others
  ) {
    return {
      question: {
        sender: form.sender,
        headers: headers.value,
        body: body.value,
        at: at.value,
        secret: secret.value,
        previousSecrets: previous.value,
        otherSecrets: others.value,
      },
    };
  }
  const read = {
    [form.file ? "file" : "body"]: body,
    [isService ? "signature" : "headers"]: headers,
    at,
    secret,
    previous,
    others,
  };
  return {
    errors: Object.fromEntries(
      Object.entries(read).flatMap(([field, result]) =>
        "error" in result ? [[field, result.error]] : [],
      ),
    ),
  };
}

/** How a command, a request, a response, and each of them in the output of curl start. */
const moreThanBody = /^(?:curl |(?:[A-Z]+ \S+ )?HTTP\/\d|[<>*] )/;

async function bodyOf({ body, isBase64, file }: Form): Promise<Read<Uint8Array>> {
  if (file) {
    if (body !== "") {
      return {
        error:
          "There is a body above, and a file. Remove the file, or clear the field of the body.",
      };
    }
    if (file.size > mostBytes) return { error: tooLarge(file.size) };
    try {
      return { value: new Uint8Array(await file.arrayBuffer()) };
    } catch {
      return { error: "The file cannot be read. Choose it again." };
    }
  }
  if (!isBase64 && moreThanBody.test(body)) {
    return {
      error:
        "This is more than the body. Paste only the body, without the command or the headers before it.",
    };
  }
  const bytes = isBase64 ? fromBase64(body) : new TextEncoder().encode(body);
  if (bytes === undefined) {
    return {
      error:
        "This is not base64. Paste the whole base64 text, or clear “The body is base64” if this is the body itself.",
    };
  }
  return bytes.length > mostBytes ? { error: tooLarge(bytes.length) } : { value: bytes };
}

/** Decodes base64 or base64url. Returns undefined for another text. */
function fromBase64(text: string): Uint8Array | undefined {
  const digits = text.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) return undefined;
  try {
    return Uint8Array.from(atob(digits), (byte) => byte.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Reads the value of the service's header. Other parts of the request next to it would look like a wrong signature. */
function signatureOf(text: string): Read<Question["headers"]> {
  return linesOf(text).length > 1 || /\S\s*x-svc-signature/i.test(text)
    ? { error: "Paste only the value of X-SVC-Signature, on one line." }
    : { value: [[service.form.header, text]] };
}

function secretOf(secret: string): Read<string> {
  if (secret === "") return { error: "Enter the signing secret of the receiver." };
  if (secret.trim() !== secret) {
    return {
      error:
        "There is white space around the secret. Remove it here, and where the receiver's secret is stored.",
    };
  }
  return /^["'`]|["'`]$/.test(secret)
    ? {
        error:
          "There are quotes around the secret. Remove them here, and where the receiver's secret is stored.",
      }
    : { value: secret };
}

/** Reads secrets, one per line. */
function secretsOf(text: string): Read<string[]> {
  const secrets = linesOf(text);
  const wrong = secrets.map(secretOf).find((result) => "error" in result);
  return wrong ?? { value: secrets };
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line.trim() !== "");

// A lazy value would take quadratic time to find white space at the end.
const headerLine = /^([\w!#$%&'*+.^`|~-]{1,256}):[ \t]*((?:.*[^ \t])?)[ \t]*$/s;

function headersOf(text: string): Read<Question["headers"]> {
  const lines = text.split("\n");
  if (linesOf(text).length === 0) {
    return { error: "Enter the headers of the request, one per line, in the form Name: value." };
  }
  const parsed = lines.map((line) => headerLine.exec(line));
  const wrong = lines.findIndex((line, index) => line.trim() !== "" && !parsed[index]);
  return wrong < 0
    ? {
        value: parsed.flatMap((match) =>
          match ? [[match[1] ?? "", match[2] ?? ""] as const] : [],
        ),
      }
    : { error: `Line ${wrong + 1} is not a header. Write it in the form Name: value.` };
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Returns whether a day exists: `Date.parse` accepts 30 February as the 2nd of March. */
const isDay = (date: string): boolean => new Date(date).getUTCDate() === Number(date.slice(-2));

/** Parses ISO 8601 with a time zone, or epoch seconds, as epoch milliseconds. */
function timeOf(text: string): Read<number> {
  const trimmed = text.trim();
  if (trimmed === "") return { value: Date.now() };
  const time = /^\d{1,11}$/.test(trimmed)
    ? Number(trimmed) * 1_000
    : iso.test(trimmed) && isDay(trimmed.slice(0, 10))
      ? Date.parse(trimmed)
      : NaN;
  return Number.isNaN(time)
    ? {
        error:
          "This is not a time. Write epoch seconds, or a time with a time zone, such as 2026-11-22T10:00:00Z.",
      }
    : { value: time };
}
