/** getConfig: the switches of the service. */
import { operation, reply } from "../operation.ts";
import { configOnWire } from "../present/policy.ts";
import { storedPolicy } from "../reading/policy.ts";
import { components } from "../schemas/components.ts";

export const getConfig = operation(
  {
    id: "getConfig",
    method: "get",
    path: "/v1/config",
    tag: "config",
    summary: "Read the configuration",
    answers: { 200: components.Config },
    refusals: [],
    mutates: false,
  },
  async (_input, call) => {
    const { config } = await storedPolicy(call);
    return reply(200, configOnWire(config), config.revision);
  },
);
