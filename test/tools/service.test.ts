/** The service that other tests start: settings reach the Worker, SIGKILL keeps what was acknowledged. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startService } from "../support/service.ts";

const entryText = `
import { DurableObject } from "cloudflare:workers";
export class BlockObject extends DurableObject {}
export class HostObject extends DurableObject {}
export class PoolObject extends DurableObject {}
export class HandleIndexObject extends DurableObject {}
export class SweepObject extends DurableObject {}
export class ClusterObject extends DurableObject {
  add() {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY, n INTEGER)");
    return sql.exec("INSERT INTO counter VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n").one().n;
  }
}
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/vars") {
      const { PLATFORM, AUTH_MODE, IPAM_TOKENS, EXTRA } = env;
      return Response.json({ PLATFORM, AUTH_MODE, IPAM_TOKENS, EXTRA });
    }
    if (pathname === "/add") {
      return Response.json(await env.CLUSTER.get(env.CLUSTER.idFromName("one")).add());
    }
    return new Response("ok");
  },
};
`;

async function withEntry(test: (entry: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "edge-ipam-entry-"));
  try {
    const entry = join(folder, "entry.js");
    writeFileSync(entry, entryText);
    await test(entry);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function get(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

it("serves another entry file, with further variables, open on loopback without tokens", () =>
  withEntry(async (entry) => {
    const service = await startService({ entry, vars: { EXTRA: "1" } });
    try {
      expect(await get(`${service.url}/vars`)).toEqual({ PLATFORM: "local", AUTH_MODE: "none", EXTRA: "1" });
    } finally {
      await service.stop();
    }
    expect(existsSync(service.dataDir)).toBe(false);
  }));

it("passes tokens on, and is then not open", () =>
  withEntry(async (entry) => {
    const service = await startService({ entry, tokens: "[]" });
    try {
      expect(await get(`${service.url}/vars`)).toEqual({ PLATFORM: "local", IPAM_TOKENS: "[]" });
    } finally {
      await service.stop();
    }
  }));

it("I4: a write that was acknowledged survives SIGKILL, at the same address", () =>
  withEntry(async (entry) => {
    const service = await startService({ entry });
    try {
      const { url, pid } = service;
      expect(await get(`${url}/add`)).toBe(1);
      expect(await get(`${url}/add`)).toBe(2);
      await service.kill();
      await expect(fetch(url)).rejects.toThrow();
      await service.restart();
      expect(service.url).toBe(url);
      expect(service.pid).not.toBe(pid);
      expect(await get(`${url}/add`)).toBe(3);
    } finally {
      await service.stop();
    }
  }));
