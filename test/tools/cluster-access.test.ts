/** The way to a Kubernetes API server: what is taken from the environment, and that workerd gets there. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ClusterAccess,
  readClusterAccess,
  unusedClusterSettings,
} from "../../src/tools/cluster-access.ts";
import { type Launched, launch } from "../../src/tools/launch.ts";
import { workerdConfig } from "../../src/tools/workerd-config.ts";
import { ApiServer } from "../support/api-server.ts";
import { type Listening, listen } from "../support/api-server-http.ts";

/** What comes for sure may take so long on a busy machine, ms. */
const SLOW_MS = 90_000;
let folder: string;
const at = (...names: string[]): string => join(folder, ...names);

function openssl(...words: string[]): void {
  const { status, stderr } = spawnSync("openssl", words, { cwd: folder, encoding: "utf8" });
  expect(status, stderr).toBe(0);
}

/** A CA, and a server's certificate of it for one name. */
function certify(name: string): { readonly cert: string; readonly key: string; readonly ca: string } {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"];
  const ca = `${name}-ca`;
  openssl("req", "-x509", ...key, `${ca}.key`, "-out", `${ca}.pem`, "-days", "2", "-subj", `/CN=${ca}`);
  openssl("req", ...key, `${name}.key`, "-out", `${name}.csr`, "-subj", "/CN=api");
  const isAddress = /^[\d.]+$/.test(name);
  writeFileSync(at(`${name}.ext`), `subjectAltName=${isAddress ? "IP" : "DNS"}:${name}\n`);
  const signer = ["-CA", `${ca}.pem`, "-CAkey", `${ca}.key`, "-CAcreateserial", "-days", "2"];
  openssl("x509", "-req", "-in", `${name}.csr`, ...signer, "-out", `${name}.pem`, "-extfile", `${name}.ext`);
  return { cert: at(`${name}.pem`), key: at(`${name}.key`), ca: at(`${ca}.pem`) };
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "edge-ipam-cluster-"));
  writeFileSync(at("token"), "s3cret\n");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("what the environment says of the cluster", () => {
  it("is nothing without an address", () => {
    expect(readClusterAccess({})).toBeUndefined();
    expect(readClusterAccess({ KUBERNETES_API_URL: "", KUBERNETES_TOKEN: "t" })).toBeUndefined();
  });

  it("names what is set and does nothing without an address", () => {
    const set = { KUBERNETES_TOKEN: "s3cret", KUBERNETES_CA: "/ca.pem" };
    expect(unusedClusterSettings(set)).toEqual(["KUBERNETES_TOKEN", "KUBERNETES_CA"]);
    expect(unusedClusterSettings({ ...set, KUBERNETES_API_URL: "https://10.96.0.1" })).toEqual([]);
    expect(unusedClusterSettings({ KUBERNETES_SERVICE_HOST: "10.96.0.1" })).toEqual([]);
  });

  it.each<[string, string, Partial<ClusterAccess>]>([
    ["https://10.96.0.1", "10.96.0.1:443", { tls: { certificates: [] } }],
    ["https://gate.example:6443/k8s/c-1", "gate.example:6443", { tls: { certificates: [] } }],
    ["https://[fd00::1]:6443", "[fd00::1]:6443", { tls: { certificates: [] } }],
    ["http://127.0.0.1:8001", "127.0.0.1:8001", {}],
    ["http://localhost", "localhost:80", {}],
  ])("leads from %s to %s", (url, address, rest) => {
    const vars = { KUBERNETES_API_URL: url };
    expect(readClusterAccess({ KUBERNETES_API_URL: url })).toEqual({ address, vars, ...rest });
  });

  it("takes the token from a file's folder or as it is, and certificates from a file or as they are", () => {
    const url = "https://10.96.0.1";
    const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    writeFileSync(at("bundle.pem"), `first\n${pem}second\n${pem}`);
    const read = readClusterAccess({
      KUBERNETES_API_URL: url,
      KUBERNETES_TOKEN_FILE: at("token"),
      KUBERNETES_CA: at("bundle.pem"),
      KUBERNETES_SERVER_NAME: "kubernetes.default.svc",
      KUBERNETES_VIRTUAL_MACHINES: "on",
      KUBERNETES_TIMEOUT_SECONDS: "5",
    });
    expect(read).toEqual({
      address: "10.96.0.1:443",
      tls: { certificates: [pem, pem], serverName: "kubernetes.default.svc" },
      tokenFolder: folder,
      vars: {
        KUBERNETES_API_URL: url,
        KUBERNETES_TOKEN_FILE_NAME: "token",
        KUBERNETES_VIRTUAL_MACHINES: "on",
        KUBERNETES_TIMEOUT_SECONDS: "5",
      },
    });
    const plain = readClusterAccess({ KUBERNETES_API_URL: url, KUBERNETES_TOKEN: "t", KUBERNETES_CA: pem });
    expect(plain).toMatchObject({ token: "t", tls: { certificates: [pem] } });
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    [
      "plain http to another machine",
      { KUBERNETES_API_URL: "http://10.96.0.1" },
      "KUBERNETES_API_URL must be",
    ],
    ["no URL", { KUBERNETES_API_URL: "10.96.0.1:6443" }, "KUBERNETES_API_URL must be"],
    ["credentials in it", { KUBERNETES_API_URL: "https://a:b@10.96.0.1" }, "KUBERNETES_API_URL must be"],
    ["a query in it", { KUBERNETES_API_URL: "https://10.96.0.1/?a=b" }, "KUBERNETES_API_URL must be"],
    ["two tokens", { KUBERNETES_TOKEN: "t", KUBERNETES_TOKEN_FILE: "/t" }, "only one of KUBERNETES_TOKEN"],
    [
      "no such token file",
      { KUBERNETES_TOKEN_FILE: "/nowhere/token" },
      "names /nowhere/token, which does not exist",
    ],
    ["a folder as token file", { KUBERNETES_TOKEN_FILE: "/" }, "names /, which is no file"],
    ["a token file that is hidden", { KUBERNETES_TOKEN_FILE: resolve(".gitignore") }, "begins with a dot"],
    ["no such CA file", { KUBERNETES_CA: "/nowhere/ca.pem" }, "KUBERNETES_CA names"],
    ["a CA without a certificate", { KUBERNETES_CA: "/dev/null" }, "KUBERNETES_CA must be"],
    ["another word for on", { KUBERNETES_VIRTUAL_MACHINES: "yes" }, "KUBERNETES_VIRTUAL_MACHINES must be"],
    ["no number of seconds", { KUBERNETES_TIMEOUT_SECONDS: "soon" }, "KUBERNETES_TIMEOUT_SECONDS must be"],
    ["too many seconds", { KUBERNETES_TIMEOUT_SECONDS: "31" }, "KUBERNETES_TIMEOUT_SECONDS must be"],
  ])("is refused with %s, in words and without the token", (_, environment, words) => {
    const given = { KUBERNETES_API_URL: "https://10.96.0.1", ...environment };
    expect(() => readClusterAccess(given)).toThrow(words);
  });

  it("becomes the one server that the Worker can reach", () => {
    const setting = {
      objectsFolder: "/data/objects",
      publicFolder: "/public",
      bundle: "worker.js",
      socket: "127.0.0.1:8787",
      vars: {},
      secrets: ["KUBERNETES_TOKEN"],
    };
    expect(workerdConfig(setting)).not.toContain("external");
    const tls = { certificates: ["PEM\n"], serverName: "kubernetes.default.svc" };
    const text = workerdConfig({
      ...setting,
      cluster: { address: "10.96.0.1:443", tls, tokenFolder: "/run/t" },
    });
    expect(text).toContain(
      '(name = "kubernetes", external = (address = "10.96.0.1:443", https = (options = (), tlsOptions = ' +
        '(trustedCertificates = ["PEM\\n"]), certificateHost = "kubernetes.default.svc")))',
    );
    expect(text).toContain('(name = "kubernetes-token", disk = (path = "/run/t"))');
    expect(text).toContain('(name = "KUBERNETES", service = "kubernetes")');
    expect(text).toContain('(name = "KUBERNETES_TOKEN_FOLDER", service = "kubernetes-token")');
    expect(workerdConfig({ ...setting, cluster: { address: "a:1", tls: { certificates: [] } } })).toContain(
      "trustBrowserCas = true",
    );
  });
});

describe("npm start with a cluster", () => {
  let service: Launched | undefined;
  let server: Listening | undefined;

  /** Starts on a folder of its own; the first request makes the Sweep begin. */
  async function begin(environment: NodeJS.ProcessEnv): Promise<string[]> {
    const kubernetes = readClusterAccess({ KUBERNETES_API_URL: server?.url, ...environment })!;
    const log: string[] = [];
    const onLog = (text: string): void => void log.push(text);
    const dataFolder = mkdtempSync(at("data-"));
    service = await launch({ dataFolder, port: 0, address: "127.0.0.1", kubernetes, onLog });
    const url = await service.ready;
    const headers = { "Content-Type": "application/json" };
    await fetch(`${url}/v1/hosts/node-a`, { method: "PUT", headers, body: '{"labels":{}}' });
    const text = readFileSync(join(dataFolder, "run/workerd.capnp"), "utf8");
    expect(text).not.toContain("s3cret");
    return log;
  }

  async function end(): Promise<void> {
    await service?.kill();
    await server?.close();
  }

  function cluster(): ApiServer {
    const api = new ApiServer();
    api.token = "s3cret";
    return api;
  }

  /** A token as a kubelet mounts it: a name that leads to another folder after each renewal. */
  function mount(token: string): string {
    mkdirSync(at("mounted", "..2026_11_30"), { recursive: true });
    writeFileSync(at("mounted", "..2026_11_30", "token"), token);
    symlinkSync("..2026_11_30", at("mounted", "..data"));
    symlinkSync("..data/token", at("mounted", "token"));
    return at("mounted", "token");
  }

  it("asks it over TLS with a CA of its own, with the token of a mounted file", async () => {
    const api = cluster();
    const tls = certify("127.0.0.1");
    server = await listen(api, tls);
    try {
      await begin({ KUBERNETES_CA: tls.ca, KUBERNETES_TOKEN_FILE: mount("s3cret") });
      await expect.poll(() => api.accepted, { timeout: SLOW_MS }).toContain("/api/v1/nodes?limit=500");
    } finally {
      await end();
    }
  });

  it("asks it under another name, with a token of its environment", async () => {
    const api = cluster();
    const tls = certify("kubernetes.default.svc");
    server = await listen(api, tls);
    try {
      await begin({
        KUBERNETES_CA: readFileSync(tls.ca, "utf8"),
        KUBERNETES_SERVER_NAME: "kubernetes.default.svc",
        KUBERNETES_TOKEN: "s3cret",
      });
      await expect.poll(() => api.accepted, { timeout: SLOW_MS }).toContain("/api/v1/nodes?limit=500");
    } finally {
      await end();
    }
  });

  it("sends nothing to a server whose certificate it does not trust, and says why", async () => {
    const api = cluster();
    server = await listen(api, certify("127.0.0.1"));
    try {
      const log = await begin({
        KUBERNETES_CA: at("kubernetes.default.svc-ca.pem"),
        KUBERNETES_TOKEN: "s3cret",
      });
      await expect.poll(() => log.join(""), { timeout: SLOW_MS }).toMatch(/certificate/i);
      expect(api.requests).toEqual([]);
      expect(log.join("")).not.toContain("s3cret");
    } finally {
      await end();
    }
  });
});
