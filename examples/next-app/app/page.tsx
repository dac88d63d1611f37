export default function Page() {
  return (
    <p>
      Deliveries go to <code>/api/webhooks</code>. The README has a command that sends one.
    </p>
  );
}
