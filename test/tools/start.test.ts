/** The local start as a program: lock, signals, durability over SIGKILL, refusals in words. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { repositoryRoot } from "../../src/tools/bundle.ts";
import { reachableUrl, readSettings, readyText } from "../../src/tools/start.ts";

const program = resolve(repositoryRoot, "src/tools/start.ts");
/** What comes for sure may take so long on a busy machine, ms. */
const SLOW_MS = 60_000;
let dataFolder: string;
let running: ChildProcess[];

beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-start-"));
  running = [];
});

afterEach(async () => {
  for (const child of running) {
    child.kill("SIGKILL");
  }
  await expect.poll(() => isHeld(), { timeout: SLOW_MS }).toBe(false);
  rmSync(dataFolder, { recursive: true, force: true });
});

/** Whether workerd, which holds the lock, lives. */
function isHeld(): boolean {
  return spawnSync("flock", ["--nonblock", join(dataFolder, "lock"), "true"]).status !== 0;
}

interface Started {
  child: ChildProcess;
  text: string;
  url: string;
}

/** Starts the program and waits for its text, or for its end. */
async function start(
  environment: Record<string, string> = {},
  command: string[] = [process.execPath, program],
): Promise<Started> {
  const [name = "", ...words] = command;
  const child = spawn(name, words, {
    cwd: repositoryRoot,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", IPAM_DATA: dataFolder, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let text = "";
  await new Promise<void>((settle) => {
    const read = (chunk: Buffer): void => {
      text += chunk.toString("utf8");
      if (text.includes("curl -s")) {
        settle();
      }
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("close", () => settle());
  });
  return { child, text, url: /Address +(\S+)/.exec(text)?.[1] ?? "" };
}

function ended(child: ChildProcess): Promise<number | string | null> {
  return new Promise((settle) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      settle(child.exitCode ?? child.signalCode);
    } else {
      child.once("exit", (code, signal) => settle(code ?? signal));
    }
  });
}

async function register(url: string, host: string): Promise<number> {
  const answer = await fetch(`${url}/v1/hosts/${host}`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ labels: {} }),
  });
  return answer.status;
}

async function isRegistered(url: string, host: string): Promise<boolean> {
  return (await fetch(`${url}/v1/hosts/${host}`)).status === 200;
}

describe("npm start", () => {
  it("prints address, data folder, docs page, authentication and a curl line within 80 columns", async () => {
    const { text, url } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(text).toContain(`${url}/docs`);
    expect(text).toContain(dataFolder);
    expect(text).toMatch(/Auth +none/);
    expect(text).toContain(`curl -s ${url}/`);
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("the collector has been called by the alarm that stands in for cron", async () => {
    const { url } = await start();
    const gc = async () => (await (await fetch(`${url}/v1/gc`)).json()) as { sweep: number; tick: object };
    await expect.poll(async () => (await gc()).sweep, { timeout: SLOW_MS }).toBeGreaterThan(0);
    expect((await gc()).tick).toMatchObject({ source: "alarm", overdue: false });
  });

  it("I4: keeps what it acknowledged over SIGTERM", async () => {
    const first = await start();
    expect(await isRegistered(first.url, "node-a")).toBe(false);
    expect(await register(first.url, "node-a")).toBeLessThan(300);
    first.child.kill("SIGTERM");
    expect(await ended(first.child)).toBe(0);
    expect(isHeld()).toBe(false);
    const second = await start();
    expect(await isRegistered(second.url, "node-a")).toBe(true);
  });

  it("I4: keeps what it acknowledged over SIGKILL of the launcher, which takes workerd with it", async () => {
    const first = await start();
    expect(await register(first.url, "node-b")).toBeLessThan(300);
    expect(isHeld()).toBe(true);
    first.child.kill("SIGKILL");
    expect(await ended(first.child)).toBe("SIGKILL");
    await expect.poll(() => isHeld(), { timeout: SLOW_MS }).toBe(false);
    await expect(fetch(`${first.url}/healthz`)).rejects.toThrow();
    const second = await start();
    expect(await isRegistered(second.url, "node-b")).toBe(true);
    expect(await isRegistered(second.url, "node-c")).toBe(false);
  });

  it("refuses a second start on the same data folder, and the first one serves on", async () => {
    const first = await start();
    const second = await start();
    expect(await ended(second.child)).toBe(1);
    expect(second.text).toContain(`the data folder ${dataFolder} is in use`);
    expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
  });

  it("of two starts at the same moment exactly one gets the data folder", async () => {
    const both = await Promise.all([start(), start()]);
    expect(both.filter(({ url }) => url !== "")).toHaveLength(1);
    expect(both.filter(({ text }) => text.includes("data folder"))).toHaveLength(1);
  });

  it("ends with npm: at SIGTERM in order, at SIGKILL at once, and the data folder is free again", async () => {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const { child, url } = await start({}, ["npm", "start"]);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      child.kill(signal);
      const end = await ended(child);
      if (signal === "SIGTERM") {
        expect(isHeld()).toBe(false);
      } else {
        expect(end).toBe("SIGKILL");
      }
      await expect.poll(() => isHeld(), { timeout: SLOW_MS }).toBe(false);
    }
  });

  it("says which port is taken", async () => {
    const first = await start();
    const folder = mkdtempSync(join(tmpdir(), "edge-ipam-other-"));
    try {
      const second = await start({ PORT: new URL(first.url).port, IPAM_DATA: folder });
      expect(await ended(second.child)).toBe(1);
      expect(second.text).toContain(`another program listens on ${new URL(first.url).host}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("refuses to start where too few files may be opened", () => {
    const { status, stderr } = spawnSync(
      "sh",
      ["-c", 'ulimit -Sn 1024; ulimit -Hn 16383; exec "$@"', "sh", process.execPath, program],
      { env: { PATH: process.env.PATH, PORT: "0", IPAM_DATA: dataFolder }, encoding: "utf8" },
    );
    expect(status).toBe(1);
    expect(stderr).toContain("only 16383 files may be open");
    expect(stderr).toContain("ulimit -Hn");
    expect(stderr.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("raises the soft limit of open files to the hard one", async () => {
    const child = spawn("sh", ["-c", 'ulimit -Sn 512; exec "$@"', "sh", process.execPath, program], {
      env: { PATH: process.env.PATH, PORT: "0", IPAM_DATA: dataFolder },
      stdio: ["ignore", "pipe", "ignore"],
    });
    running.push(child);
    await new Promise<void>((settle) => child.stdout?.once("data", () => settle()));
    const workerd = childrenOf(child.pid ?? 0).find((pid) => openFilesOf(pid) !== undefined);
    const [soft, hard] = openFilesOf(workerd ?? 0) ?? [];
    expect(Number(soft)).toBeGreaterThanOrEqual(16_384);
    expect(soft).toBe(hard);
  });

  it("hands the tokens to workerd without writing them anywhere", async () => {
    const secret = `[{"name":"t","sha256":"${"7".repeat(64)}","role":"admin"}]`;
    const { text } = await start({ IPAM_TOKENS: secret });
    expect(text).toMatch(/Auth +bearer tokens/);
    expect(text).toContain('-H "Authorization: Bearer $token"');
    const files = readdirSync(dataFolder, { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
    expect(files.map(({ name }) => name)).toContain("workerd.capnp");
    for (const { parentPath, name } of files) {
      expect(readFileSync(join(parentPath, name)).includes("7".repeat(64)), name).toBe(false);
    }
    const config = readFileSync(join(dataFolder, "run/workerd.capnp"), "utf8");
    expect(config).toContain('fromEnvironment = "IPAM_TOKENS"');
    expect(config).not.toContain("AUTH_MODE");
  });
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
}

/** Soft and hard limit of open files of a process that is workerd. */
function openFilesOf(pid: number): string[] | undefined {
  if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workerd")) {
    return undefined;
  }
  const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
  return /^Max open files +(\d+) +(\d+)/m.exec(limits)?.slice(1);
}

describe("what the start says", () => {
  const service = {
    authMode: "not configured" as const,
    lockTools: { flock: true, setpriv: true },
    objectsMax: 5_290,
    openFiles: 16_384,
  };

  it.each([
    ["http://0.0.0.0:8899", "http://127.0.0.1:8899"],
    ["http://[::]:8899", "http://[::1]:8899"],
    ["http://10.0.0.5:8899", "http://10.0.0.5:8899"],
  ])("of %s a program here can reach: %s", (listening, url) => {
    expect(reachableUrl(listening)).toBe(url);
    const text = readyText(listening, { dataFolder: "/data" }, service);
    expect(text).toContain(`Address   ${url}\n`);
    expect(text).toContain(`${url}/v1/config`);
    expect(text.includes("all addresses of this machine")).toBe(url !== listening);
  });

  it.each([
    ["x", "it is no JSON"],
    ["", "it is empty"],
    ["[]", "the list is empty"],
    ['[{"name":"a","role":"admin","sha256":"5ecre7"}]', "entry 1: sha256 must be 64 hexadecimal digits"],
    [
      `[{"name":"a","role":"admin","sha256":"${"0".repeat(64)}"},{"name":"b","role":"5ecre7","sha256":"${"1".repeat(64)}"}]`,
      "entry 2: role must be one of admin, reader, agent",
    ],
  ])("why nobody is let in, without what stands there: %s", (tokens, fault) => {
    const text = readyText("http://127.0.0.1:1", { dataFolder: "/data", tokens }, service);
    expect(text).toMatch(/Auth +not configured/);
    expect(text).toContain(`            ${fault}\n`);
    expect(text).not.toContain("5ecre7");
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("which settings do nothing", () => {
    const text = readyText("http://127.0.0.1:1", { dataFolder: "/data" }, service, ["KUBERNETES_TOKEN"]);
    expect(text).toContain("KUBERNETES_TOKEN is set and not used:");
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});

describe("settings", () => {
  it("have defaults that serve this machine only", () => {
    expect(readSettings({})).toEqual({
      port: 8787,
      dataFolder: resolve(repositoryRoot, "data"),
      address: "127.0.0.1",
      vars: {},
    });
  });

  it.each([
    [{ PORT: "http" }, "PORT is http"],
    [{ PORT: "65536" }, "PORT is 65536"],
    [{ PORT: "-1" }, "PORT is -1"],
    [{ IPAM_VARS: "[1]" }, "IPAM_VARS"],
    [{ IPAM_VARS: "{" }, "IPAM_VARS"],
    [{ IPAM_ENTRY: "/nowhere/entry.ts" }, "/nowhere/entry.ts"],
  ])("names the variable that is wrong: %o", (environment, message) => {
    expect(() => readSettings(environment)).toThrow(message);
  });

  it("an empty IPAM_TOKENS does not open the service", () => {
    expect(readSettings({ IPAM_TOKENS: "" }).tokens).toBe("");
  });
});
