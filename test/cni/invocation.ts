/**
 * One run of the bundled plugin with a usual environment and configuration, and what it printed.
 * May import: test/cni. stderr must stay empty, whatever fails.
 */

import { expect } from "vitest";
import { type Finished, PATH_WITH_NODE, runProgram } from "./plugin-process.ts";

/** What differs from an ADD of eth0 of container abc on network net1, IPv4, host node-1, version 1.0.0. */
export interface Run {
  command?: string;
  cniVersion?: string;
  env?: Record<string, string>;
  netconf?: Record<string, unknown>;
  ipam?: Record<string, unknown>;
  stdin?: string;
}

export interface PrintedFailure {
  cniVersion: string;
  code: number;
  msg: string;
  details?: string;
}

/** Runs the plugin against a server. */
export function invokePlugin(file: string, server: string, run: Run = {}): Promise<Finished> {
  const netconf = {
    cniVersion: run.cniVersion ?? "1.0.0",
    name: "net1",
    type: "bridge",
    ...run.netconf,
    ipam: { type: "edge-ipam", server, host: "node-1", ...run.ipam },
  };
  return runProgram(file, [], {
    env: {
      PATH: PATH_WITH_NODE,
      CNI_COMMAND: run.command ?? "ADD",
      CNI_CONTAINERID: "abc",
      CNI_NETNS: "/run/netns/x",
      CNI_IFNAME: "eth0",
      ...run.env,
    },
    stdin: run.stdin ?? JSON.stringify(netconf),
  });
}

/** Parses what was printed. */
export function printed(finished: Finished): unknown {
  return JSON.parse(finished.stdout);
}

/** Expects a failure and gives what was printed. */
export function failed(finished: Finished): PrintedFailure {
  expect(finished.exitCode, finished.stdout).toBe(1);
  expect(finished.stderr).toBe("");
  return printed(finished) as PrintedFailure;
}

/** Expects success and gives the addresses with their prefix. */
export function addressesOf(finished: Finished): string[] {
  expect(finished, finished.stdout).toMatchObject({ exitCode: 0, stderr: "" });
  return (printed(finished) as { ips: { address: string }[] }).ips.map((ip) => ip.address);
}

/** What a command without a document leaves behind when it succeeds. */
export const SILENT_SUCCESS: Finished = { exitCode: 0, stdout: "", stderr: "" };
