/** The lock file that stands in where flock is missing. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bootId, lockPrefix, nameHolders, takeLockFile } from "../../src/tools/data-lock.ts";
import { launch } from "../../src/tools/launch.ts";

let folder: string;
let lockFile: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "edge-ipam-lock-"));
  lockFile = join(folder, "lock.pid");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("is refused while its holder lives, and names it", () => {
  expect(takeLockFile(lockFile)).toBeUndefined();
  expect(takeLockFile(lockFile)).toBe(process.pid);
});

it("stays with workerd when the launcher is dead", async () => {
  const workerd = spawn("sleep", ["60"]);
  const dead = await deadPid();
  nameHolders(lockFile, [dead, workerd.pid ?? 0]);
  expect(takeLockFile(lockFile)).toBe(workerd.pid);
  workerd.kill("SIGKILL");
  await new Promise((settle) => workerd.once("exit", settle));
  expect(takeLockFile(lockFile)).toBeUndefined();
});

it("of an earlier boot is void, even if the process id is in use again", () => {
  writeFileSync(lockFile, JSON.stringify({ bootId: `not-${bootId()}`, pids: [process.pid] }));
  expect(takeLockFile(lockFile)).toBeUndefined();
  expect(JSON.parse(readFileSync(lockFile, "utf8"))).toEqual({ bootId: bootId(), pids: [process.pid] });
});

it("that was cut short is void", () => {
  writeFileSync(lockFile, '{"bootId":');
  expect(takeLockFile(lockFile)).toBeUndefined();
});

it("guards a running service, and is gone after its end", async () => {
  const lockTools = { flock: false, setpriv: false };
  expect(lockPrefix(lockTools, lockFile)).toEqual([]);
  const options = { dataFolder: folder, port: 0, address: "127.0.0.1", lockTools };
  const service = await launch(options);
  try {
    await service.ready;
    await expect(launch(options)).rejects.toThrow(`the data folder ${folder} is in use by process`);
  } finally {
    await service.stop();
  }
  expect(takeLockFile(lockFile)).toBeUndefined();
});

async function deadPid(): Promise<number> {
  const child = spawn("true");
  await new Promise((settle) => child.once("exit", settle));
  return child.pid ?? 0;
}
