export { contractReceiver } from "./adapter/contract-receiver.js";
