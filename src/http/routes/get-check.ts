/** getCheck: how far a check has come, and what it has found so far, in pages. */
import { rejection } from "../../core/errors.ts";
import { operation, reply } from "../operation.ts";
import { invalidCursor, readPage } from "../paging.ts";
import { checkOnWire } from "../present/check.ts";
import { components } from "../schemas/components.ts";
import { checkParams, pageQuery } from "../schemas/parameters.ts";

export const getCheck = operation(
  {
    id: "getCheck",
    method: "get",
    path: "/v1/checks/{check}",
    tag: "operations",
    summary: "Read a check and its findings",
    params: checkParams,
    query: pageQuery,
    answers: { 200: components.Check },
    refusals: ["check_not_found"],
    mutates: false,
  },
  async ({ params: { check: id }, query }, call) => {
    const page = await readPage("getCheck", { ...query, check: id });
    if (!page.ok) return page.error;
    const { after, limit, cursorAfter } = page.value;
    if (after !== undefined && !/^[1-9][0-9]{0,14}$/.test(after)) {
      return invalidCursor("names no finding").error;
    }
    const from = after === undefined ? {} : { after: Number(after) };
    const { view, findings, next } = await call.ports.sweep().getCheck({ id, limit, ...from });
    if (view === undefined) return rejection("check_not_found", { field: id });
    const more = next === undefined ? {} : { nextCursor: cursorAfter(String(next)) };
    return reply(200, { ...checkOnWire(view, findings), ...more });
  },
);
