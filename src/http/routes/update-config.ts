/** updateConfig: changes switches; answers when every later allocation obeys. */
import { operation, reply } from "../operation.ts";
import { configOnWire } from "../present/policy.ts";
import { components } from "../schemas/components.ts";
import { guardOf } from "../writing/preconditions.ts";

export const updateConfig = operation(
  {
    id: "updateConfig",
    method: "patch",
    path: "/v1/config",
    tag: "config",
    summary: "Change the configuration",
    headers: ["If-Match"],
    body: components.ConfigPatch,
    answers: { 200: components.Config },
    refusals: ["config_conflict", "revision_mismatch", "already_exists"],
    mutates: true,
  },
  async ({ body, headers }, call) => {
    const written = await call.ports.cluster().changeConfig({ ...guardOf(headers, call), patch: body });
    if (!written.ok) return written.error;
    return reply(200, configOnWire(written.value), written.value.revision);
  },
);
