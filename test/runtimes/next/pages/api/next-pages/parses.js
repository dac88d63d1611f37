import { webhooks } from "@svc-webhooks/next/pages";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";

// Without `bodyParser: false`, Next.js parses the body first.
export default webhooks(contractReceiver());
