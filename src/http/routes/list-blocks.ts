/** listBlocks: blocks by address, each by its own answer. */

import { operation, reply } from "../operation.ts";
import { listBlockPage } from "../reading/block-listing.ts";
import { components } from "../schemas/components.ts";
import { blocksQuery } from "../schemas/parameters.ts";

export const listBlocks = operation(
  {
    id: "listBlocks",
    method: "get",
    path: "/v1/blocks",
    tag: "blocks",
    summary: "List blocks",
    query: blocksQuery,
    answers: { 200: components.BlockList },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const listed = await listBlockPage(call, query);
    return listed.ok ? reply(200, listed.value) : listed.error;
  },
);
