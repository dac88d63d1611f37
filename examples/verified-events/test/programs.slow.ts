import { here, testPrograms } from "./cases.js";
import { octokit } from "./senders/octokit.js";
import { paypal } from "./senders/paypal.js";
import { sns } from "./senders/sns.js";
import { sqs } from "./senders/sqs.js";
import { stripe } from "./senders/stripe.js";

testPrograms([stripe, octokit, sqs, sns, paypal], () => here);
