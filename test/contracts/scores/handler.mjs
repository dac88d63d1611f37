/** Posts an event to the command, and fails as it demands. */
export async function handle(event) {
  const response = await fetch(process.env.HANDLER_URL, {
    method: "POST",
    body: JSON.stringify(event),
  });
  if (!response.ok) throw new Error(await response.text());
}

export const port = Number(process.env.PORT);
export const secret = process.env.WEBHOOK_SECRET;
