/** whoAmI: tells a caller who the service takes it for. */
import { operation, reply } from "../operation.ts";
import { components } from "../schemas/components.ts";

export const whoAmI = operation(
  {
    id: "whoAmI",
    method: "get",
    path: "/v1/whoami",
    tag: "system",
    summary: "Who the service takes the caller for",
    answers: { 200: components.WhoAmI },
    refusals: [],
    mutates: false,
  },
  async (_input, { principal }) =>
    reply(200, {
      subject: principal.subject,
      // Without credentials everybody may do what an administrator may, but is nobody in particular.
      role: principal.method === "none" ? "anonymous" : principal.role,
      ...(principal.host === undefined ? {} : { host: principal.host }),
      method: principal.method,
    }),
);
