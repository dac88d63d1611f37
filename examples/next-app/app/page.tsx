export default function Page() {
  return (
    <p>
      Send deliveries to <code>/api/webhooks</code>. The README has a command for it.
    </p>
  );
}
