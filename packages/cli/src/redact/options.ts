export const redactOptions = {
  "redact-key": {
    type: "string",
    multiple: true,
    value: "name",
    text: "also replace the values under this name; may be repeated",
  },
} as const;
