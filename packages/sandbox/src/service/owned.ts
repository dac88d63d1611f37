import { notFound } from "../errors.js";
import type { AccountId } from "../state/records.js";
import type { Table } from "../state/table.js";

/** Finds the record of an id, if it belongs to the account. @throws ApiError 404 that names `param` */
export function owned<Item extends { readonly account: AccountId }>(
  table: Pick<Table<Item>, "get">,
  account: AccountId,
  param: string,
  id: string | undefined,
): Item {
  const item = table.get(id ?? "");
  if (item?.account !== account) throw notFound(param, `There is no such ${param}.`);
  return item;
}
