/** The problem table against the contract's table of codes, and what it says in words. */
import { describe, expect, it } from "vitest";
import { cniNumberOf } from "../../src/cni/error-codes.ts";
import { type Code, type EvidenceByCode, rejection, type Shortfall } from "../../src/core/errors.ts";
import { PROBLEMS, problemBody, problemResponse } from "../../src/http/problem.ts";
import { components } from "../../src/http/schemas/components.ts";
import { errorPages } from "../../src/tools/error-pages.ts";

/** Code, status and retry (n never, c after a change, l later, s same request), as the contract lists them. */
const CONTRACT = `
invalid_request 400 n; malformed_json 400 n; guard_required 400 n; range_too_large 400 n;
not_authenticated 401 c; token_invalid 401 c; token_expired 401 c; role_insufficient 403 c; host_mismatch 403 c;
route_not_found 404 n; method_not_allowed 405 n; pool_not_found 404 c; reservation_not_found 404 c;
host_not_found 404 c; block_not_found 404 c; check_not_found 404 c; load_balancer_not_found 404 c;
address_not_allocated 404 n; host_unknown 409 c; host_removing 409 c; requested_pool_unavailable 409 c;
no_qualified_pool 409 c; no_pool_selects_host 409 c; handle_limit_reached 409 n; block_limit_reached 409 c;
auto_allocate_disabled 409 c; strict_affinity 409 c; pool_cooling 409 l; pool_exhausted 409 c;
idempotency_key_released 409 n; address_taken 409 c; address_cooling 409 l; address_not_in_pool 409 c;
use_not_allowed 409 c; address_outside_affinity 409 c; sequence_mismatch 409 n; handle_mismatch 409 n;
owner_mismatch 409 n; handle_not_allocated 409 s; alternate_owner_empty 409 n; alternate_owner_mismatch 409 n;
block_not_empty 409 l; block_owned_by_other 409 c; cidr_not_in_pool 409 c; pool_overlap 409 c;
pool_field_immutable 409 n; pool_draining 409 c; config_conflict 409 n; incarnation_conflict 409 n;
report_out_of_order 409 n; check_running 409 l; breaker_not_open 409 l; revision_mismatch 412 n;
already_exists 412 n; body_too_large 413 n; unsupported_media_type 415 n; idempotency_key_reused 422 n;
rate_limited 429 s; internal_error 500 s; overloaded 503 s; in_progress 503 s; outcome_unknown 503 s;
policy_unavailable 503 s; deadline_exceeded 503 s; storage_unavailable 503 s; maintenance 503 l;
not_ready 503 l; auth_not_configured 503 l`;

const RETRY = { n: "no", c: "after_change", l: "later", s: "same_request" } as const;
const codes = Object.keys(PROBLEMS) as Code[];

const shortfall: Shortfall = {
  family: 4,
  requested: 1,
  allocated: 0,
  code: "block_limit_reached",
  considered: [
    {
      kind: "pool",
      outcome: "skipped",
      rule: "node_selector",
      pool: "gpu",
      detail: "node-1 has no label gpu",
    },
    {
      kind: "block",
      outcome: "full",
      rule: "cooling",
      block: "10.244.3.0/26",
      cooling: 3,
      nextFreeAt: 1_000,
    },
  ],
  consideredOmitted: 0,
};
const capped: EvidenceByCode["pool_exhausted"] = {
  host: "node-1",
  family: 4,
  requested: 1,
  allocated: 0,
  owned: 20,
  limit: 20,
  freeAt: 1_000,
  shortfall: [shortfall],
};

describe("the problem table", () => {
  it("has the contract's status and retry for every code", () => {
    const listed = CONTRACT.split(";").map((row) => {
      const [code = "", status, letter] = row.trim().split(" ");
      return [code, Number(status), RETRY[letter as keyof typeof RETRY]];
    });
    const table = codes.map((code) => [code, PROBLEMS[code].status, PROBLEMS[code].retry]);
    expect(table.toSorted()).toEqual(listed.toSorted());
  });

  it("has the number that the CNI plugin prints", () => {
    for (const code of codes) {
      const { status, retry, cni } = PROBLEMS[code];
      expect(cniNumberOf(code, status, retry), code).toBe(cni);
    }
  });

  it("says what each code means and what to do next, and when for 429 and 503", () => {
    for (const code of codes) {
      const row = PROBLEMS[code];
      for (const text of [row.title, row.meaning, row.next]) expect(text.length, code).toBeGreaterThan(10);
      for (const key of row.evidence)
        expect(["errors", ...Object.keys(components.Evidence.shape)]).toContain(key);
      expect(row.retryAfterSeconds !== undefined, code).toBe(row.status === 429 || row.status === 503);
    }
  });

  it("has a page for every code, with what the table says, and an index", () => {
    const pages = errorPages();
    expect(pages.size).toBe(codes.length + 1);
    for (const code of codes) {
      const page = pages.get(`docs/errors/${code}.html`) ?? "";
      const { status, retry, cni } = PROBLEMS[code];
      for (const text of [code, `<dd>${status}</dd>`, `<dd>${cni}</dd>`, retry]) expect(page).toContain(text);
      expect(page).not.toContain("<script");
      expect(pages.get("docs/errors/index.html")).toContain(`/docs/errors/${code}"`);
    }
  });
});

describe("a problem", () => {
  it("is the contract's Problem, with times as text and only evidence that the contract names", () => {
    const body = problemBody(rejection("block_limit_reached", { ...capped }, 12), "r-1");
    expect(components.Problem.safeParse(body).error).toBeUndefined();
    expect(Object.keys(body.evidence ?? {}).every((key) => key in components.Evidence.shape)).toBe(true);
    expect(body.evidence?.freeAt).toBe("1970-01-01T00:00:01.000Z");
    expect(body.evidence?.shortfall?.[0]?.considered[1]?.nextFreeAt).toBe("1970-01-01T00:00:01.000Z");
    expect(body).toMatchObject({ type: "/docs/errors/block_limit_reached", status: 409, requestId: "r-1" });
    const overlap = { pool: "a", otherPool: "b", cidr: "10.0.0.0/8", otherCidr: "10.1.0.0/16" };
    const written = problemBody(rejection("pool_overlap", overlap), "r-1");
    expect(written.evidence).toEqual({ pool: "a", otherPool: "b" });
    expect(written.detail).toContain("10.1.0.0/16");
  });

  it("turns to later where a time is known", () => {
    expect(problemBody(rejection("pool_exhausted", { ...capped }), "r").retry).toBe("after_change");
    const timed = problemBody(rejection("pool_exhausted", { ...capped }, 12), "r");
    expect(timed).toMatchObject({ retry: "later", retryAfterSeconds: 12 });
    expect(problemBody(rejection("in_progress", {}, 7), "r").retry).toBe("same_request");
  });

  it("says at which time the breaker opened that is open, and that none is", () => {
    const told = (evidence: EvidenceByCode["breaker_not_open"]) =>
      problemBody(rejection("breaker_not_open", evidence), "r");
    const field = "breakerOpenedAt";
    const other = told({ field, openedAt: 1_000, given: 2_000 });
    expect(other.detail).toContain("opened at 1970-01-01T00:00:01.000Z, not at 1970-01-01T00:00:02.000Z");
    expect(other.hint).toContain('{"breakerOpenedAt":"1970-01-01T00:00:01.000Z"}');
    expect(other.evidence).toEqual({ field });
    expect(told({ field })).toMatchObject({ detail: "The breaker is not open." });
  });

  it("says how a host that is not there is registered, and when a check of upkeep is", () => {
    const hint = (refusal: Parameters<typeof problemBody>[0]) => problemBody(refusal, "r").hint;
    expect(hint(rejection("host_not_found", { host: "node-7" }))).toContain("PUT /v1/hosts/node-7");
    expect(hint(rejection("check_not_found", { field: "7" }))).toContain("Start a check: POST /v1/checks");
    expect(hint(rejection("check_not_found", { field: "u1" }))).toContain("Upkeep u1 has not run yet");
  });

  it("names maxBlocksPerHost only where strict affinity lets it be set, or the request set it", () => {
    const refusal = rejection("block_limit_reached", { ...capped });
    const hint = (context: object) => problemBody(refusal, "r", context).hint;
    expect(hint({ strictAffinity: true })).toContain("PATCH /v1/config");
    expect(hint({ strictAffinity: false })).not.toContain("maxBlocksPerHost");
    expect(hint({})).not.toContain("maxBlocksPerHost");
    expect(hint({ strictAffinity: false, requestedMaxBlocksPerHost: 20 })).toContain("request's own");
  });

  it("lists at most 64 rules and counts the rest", () => {
    const considered = Array.from({ length: 70 }, () => ({ ...shortfall.considered[0] }) as never);
    const long = { ...capped, shortfall: [{ ...shortfall, considered, consideredOmitted: 5 }] };
    const [listed] = problemBody(rejection("pool_exhausted", long), "r").evidence?.shortfall ?? [];
    expect(listed?.considered).toHaveLength(64);
    expect(listed?.consideredOmitted).toBe(11);
  });

  it("R9: has Retry-After on 429 and 503 alone", () => {
    const headerOf = (answer: Response) => answer.headers.get("retry-after");
    expect(headerOf(problemResponse(rejection("in_progress", {}), "r"))).toBe("4");
    expect(headerOf(problemResponse(rejection("rate_limited", { limit: 5 }), "r"))).toBe("1");
    expect(headerOf(problemResponse(rejection("pool_exhausted", { ...capped }, 9), "r"))).toBeNull();
  });
});
