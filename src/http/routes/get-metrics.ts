/**
 * getMetrics: all figures in the text format of Prometheus, for readers.
 * It stands outside the list of operations, as pages do: the API document describes JSON only.
 */
import { addressFamilies } from "../metrics-addresses.ts";
import { collectorFamilies } from "../metrics-collector.ts";
import { metricsFacts } from "../metrics-facts.ts";
import { METRICS_CONTENT_TYPE, metricsText } from "../metrics-text.ts";
import { operation, reply } from "../operation.ts";
import { queryBoolean } from "../schemas/fields.ts";
import { z } from "../schemas/zod.ts";

export const getMetrics = operation(
  {
    id: "getMetrics",
    method: "get",
    path: "/metrics",
    tag: "system",
    summary: "Figures for Prometheus",
    query: z.object({ perHost: queryBoolean().optional() }),
    answers: { 200: z.string() },
    refusals: [],
    mutates: false,
  },
  async ({ query }, call) => {
    const facts = await metricsFacts(call);
    const families = [...addressFamilies(facts, query.perHost !== false), ...collectorFamilies(facts)];
    return { ...reply(200, metricsText(families)), contentType: METRICS_CONTENT_TYPE };
  },
);
