/**
 * Problem rows for requests that are wrong in themselves: form, credentials, path, body.
 * May import: core types and row.ts.
 */
import type { ProblemRows } from "./row.ts";

type RequestCode =
  | "invalid_request"
  | "malformed_json"
  | "guard_required"
  | "range_too_large"
  | "not_authenticated"
  | "token_invalid"
  | "token_expired"
  | "role_insufficient"
  | "host_mismatch"
  | "route_not_found"
  | "method_not_allowed"
  | "body_too_large"
  | "unsupported_media_type"
  | "idempotency_key_reused";

export const requestProblems: ProblemRows<RequestCode> = {
  invalid_request: {
    status: 400,
    title: "The request is not valid",
    retry: "no",
    cni: 7,
    meaning:
      "A field, parameter or header is unknown, missing, repeated, null, of the wrong type or out of bounds. " +
      "All problems are listed at once in errors, each with its JSON pointer or parameter name. Nothing was applied.",
    next: "Mend each field that errors names, then send the request again.",
    evidence: ["errors"],
    detail: ({ errors }) => {
      const first = errors[0];
      if (first === undefined) return "The request is not valid.";
      const where = first.pointer ?? first.parameter ?? "request";
      const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
      return `${where}: ${first.message}${more}`;
    },
  },
  malformed_json: {
    status: 400,
    title: "The body is not JSON",
    retry: "no",
    cni: 7,
    meaning: "The body could not be read as one JSON object in UTF-8.",
    next: "Send one JSON object in UTF-8.",
    evidence: [],
    detail: () => "The body is not one JSON object in UTF-8.",
  },
  guard_required: {
    status: 400,
    title: "A release needs a guard",
    retry: "no",
    cni: 7,
    meaning:
      "An address was to be released without its handle, its sequence number, or an administrator's force. " +
      "Without a guard a late request could free the address of its next user.",
    next: "Send the handle or the sequenceNumber that the allocation gave you.",
    evidence: ["address"],
    detail: ({ address }) => `${address} cannot be released without handle, sequenceNumber or force.`,
  },
  range_too_large: {
    status: 400,
    title: "The range covers too many blocks",
    retry: "no",
    cni: 120,
    meaning: "The CIDR covers more blocks than one request may touch.",
    next: "Ask for smaller ranges, one after the other.",
    evidence: ["limit"],
    detail: ({ limit }) => `The range covers more than ${limit} blocks.`,
  },
  not_authenticated: {
    status: 401,
    title: "No credential was sent",
    retry: "after_change",
    cni: 110,
    meaning: "The request carries no bearer token.",
    next: "Send the header Authorization: Bearer <token>.",
    evidence: [],
    detail: () => "This operation needs a bearer token and the request carries none.",
  },
  token_invalid: {
    status: 401,
    title: "The credential is not known",
    retry: "after_change",
    cni: 110,
    meaning:
      "The bearer token is not one that this service knows, or its signature, issuer or audience is wrong.",
    next: "Call GET /v1/whoami with the same token from the same machine, and compare the configured tokens.",
    evidence: [],
    detail: () => "The bearer token is not known to this service.",
  },
  token_expired: {
    status: 401,
    title: "The credential has expired",
    retry: "after_change",
    cni: 110,
    meaning: "The token was valid until a time that has passed.",
    next: "Rotate the token; if it is new, check the clock of the machine that made it.",
    evidence: [],
    detail: () => "The bearer token has expired.",
  },
  role_insufficient: {
    status: 403,
    title: "The role may not do this",
    retry: "after_change",
    cni: 110,
    meaning:
      "The token is valid, but its role does not allow this operation. Says nothing about what exists.",
    next: "Use a token with the required role.",
    evidence: ["role", "requiredRole"],
    detail: ({ role, requiredRole }) => `The role ${role} may not do this; it needs ${requiredRole}.`,
    hint: ({ requiredRole }) => `Use a token with the role ${requiredRole}.`,
  },
  host_mismatch: {
    status: 403,
    title: "The agent acts for another host",
    retry: "after_change",
    cni: 110,
    meaning:
      "An agent's token is bound to one host, and the request concerns another one. Says nothing about what exists.",
    next: "Compare the node name in the plugin's configuration with the host that the token is bound to.",
    evidence: ["host"],
    detail: ({ host }) => `This token is bound to ${host}; the request concerns something else.`,
    hint: ({ host }) =>
      `Act for ${host}, or compare the node name in the configuration with the token's host.`,
  },
  route_not_found: {
    status: 404,
    title: "There is no such path",
    retry: "no",
    cni: 120,
    meaning: "The path is not one of this service, or the operation comes with a later release.",
    next: "See /docs for the paths that this server knows. Paths have no trailing slash.",
    evidence: [],
    detail: () => "This server has no such path.",
  },
  method_not_allowed: {
    status: 405,
    title: "The path does not take this method",
    retry: "no",
    cni: 120,
    meaning: "The path exists, but not with this method. The header Allow lists the methods.",
    next: "Use one of the methods in the header Allow; see /docs.",
    evidence: [],
    detail: () => "This path does not take this method.",
  },
  body_too_large: {
    status: 413,
    title: "The body is too large",
    retry: "no",
    cni: 7,
    meaning: "The body has more bytes than the operation takes.",
    next: "Split the request.",
    evidence: ["limit"],
    detail: ({ limit }) => `The body has more than ${limit} bytes.`,
  },
  unsupported_media_type: {
    status: 415,
    title: "The body is not declared as JSON",
    retry: "no",
    cni: 7,
    meaning: "The header Content-Type is missing or is not application/json.",
    next: "Send Content-Type: application/json (curl --json does).",
    evidence: [],
    detail: () => "The body must be declared as application/json.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The idempotency key belongs to another request",
    retry: "no",
    cni: 117,
    meaning: "The key was used before, for the same host and handle, with another body.",
    next: "Use a new key for a new request; repeat a request with the same body.",
    evidence: ["handle"],
    detail: ({ handle }) => `The idempotency key was used for ${handle} with another body.`,
  },
};
