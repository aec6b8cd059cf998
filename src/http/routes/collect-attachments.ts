/** collectAttachments: a runtime lists the valid attachments of one network; what else is held there may go. */
import { rejection } from "../../core/errors.ts";
import { isKnownHost } from "../known-hosts.ts";
import { operation, reply } from "../operation.ts";
import { attachmentsOnWire } from "../present/leak.ts";
import { components } from "../schemas/components.ts";
import { hostParams } from "../schemas/parameters.ts";

export const collectAttachments = operation(
  {
    id: "collectAttachments",
    method: "post",
    path: "/v1/hosts/{host}/attachment-gc",
    tag: "hosts",
    summary: "Release what a runtime does not call valid",
    params: hostParams,
    headers: ["X-Request-Timeout-Ms"],
    body: components.AttachmentGcRequest,
    answers: { 200: components.AttachmentGcResult },
    refusals: ["host_not_found"],
    laterStatuses: [409],
    mutates: true,
  },
  async ({ params: { host }, body }, call) => {
    if (!(await isKnownHost(call, host))) return rejection("host_not_found", { host });
    const deadline = call.deadlineAt === undefined ? {} : { deadlineAt: call.deadlineAt };
    const request = { ...body, host, arrivedAt: call.arrivedAt, ...deadline };
    const collected = await call.ports.host(host).collectAttachments(request);
    if (collected.ok) return reply(200, attachmentsOnWire(collected.value));
    return collected.error.code === "host_unknown" ? rejection("host_not_found", { host }) : collected.error;
  },
);
