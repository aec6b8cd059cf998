/** Directed histories: silent as the product is. That each finds its fault is in ../../simulate/planted.test.ts. */
import { expect, test } from "vitest";
import { DIRECTED } from "./index.ts";
import { perform } from "./perform.ts";

test.each(Object.entries(DIRECTED))(
  "I1–I11, I13: %s reaches its point, and finds nothing",
  async (_name, history) => {
    expect(await perform(history)).toEqual([]);
  },
);
