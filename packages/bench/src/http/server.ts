import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { groups, type GroupId } from "./groups.js";
import { handlerUnderOrders, type Order } from "./handler.js";

// The process of one contender's server. The parent says which, then gives orders to its handler.
const [groupId = "", name] = process.argv.slice(2);
const { contenders } = await groups[groupId as GroupId]();
const contender = contenders.find((each) => each.name === name);
if (!contender) throw new Error(`no contender ${name} in ${groupId}`);

const { handle, obey } = handlerUnderOrders();
const server = createServer(contender.mount(handle));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", (order: Order) => process.send?.(obey(order)));
// The parent is gone, or has no more to ask.
process.once("disconnect", () => process.exit());
