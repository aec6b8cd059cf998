/**
 * The test projects: which files run where. Each can be run alone: `npx vitest run --project unit`.
 * Projects that start services or share a runtime run their files one after another.
 */
import { mkdirSync } from "node:fs";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { configDefaults, defineConfig } from "vitest/config";
import { factor } from "./test/support/seeds.ts";

const here = (path: string): string => new URL(path, import.meta.url).pathname;
// wrangler.toml names this folder, which a fresh checkout does not have.
mkdirSync(here("./dist/public"), { recursive: true });

/** Fixed seeds for what is drawn at random: for each project that runs in Node. */
const setupFiles = [here("./test/support/properties.ts")];
const exclude = [...configDefaults.exclude, "data/**"];

export default defineConfig({
  test: {
    passWithNoTests: true,
    reporters: ["default", "json"],
    outputFile: { json: "reports/tests.json" },
    projects: [
      {
        test: {
          name: "unit",
          environment: "node",
          setupFiles,
          // Properties run thousands of histories; a shared machine may be slow, an endless one is found all the same.
          testTimeout: 180_000 * factor,
          hookTimeout: 120_000,
          exclude,
          include: ["test/{core,architecture,contract,client,platform}/**/*.test.ts"],
        },
      },
      {
        resolve: {
          alias: {
            "cloudflare:workers": here("./test/support/simulation/cloudflare-workers.ts"),
            "cloudflare:durable-objects": here("./test/support/simulation/cloudflare-durable-objects.ts"),
          },
        },
        test: {
          name: "simulation",
          environment: "node",
          setupFiles,
          exclude,
          include: ["test/simulation/**/*.test.ts"],
          testTimeout: 180_000 * factor,
          hookTimeout: 120_000,
        },
      },
      {
        // The deployed classes, with limits that no machine is too slow for.
        plugins: [
          cloudflareTest({
            main: here("./test/support/objects/entry.ts"),
            wrangler: { configPath: here("./wrangler.toml") },
          }),
        ],
        test: {
          name: "objects",
          exclude: [...exclude, "test/objects/conformance/**"],
          include: ["test/objects/**/*.test.ts"],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Many deployments in one workerd, each with a clock of its own: another Worker than the deployed one.
        plugins: [
          cloudflareTest({
            main: here("./test/support/objects/case-entry.ts"),
            wrangler: { configPath: here("./wrangler.toml") },
          }),
        ],
        test: {
          name: "conformance",
          exclude,
          include: ["test/objects/conformance/**/*.test.ts"],
          maxConcurrency: 6,
          sequence: { groupOrder: 2 },
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      ...["tools", "http", "cni", "bench"].map((name, position) => ({
        test: {
          name,
          environment: "node" as const,
          setupFiles,
          exclude,
          include: [`test/${name}/**/*.test.ts`],
          globalSetup: here("./test/support/public-files.ts"),
          fileParallelism: false,
          sequence: { groupOrder: 3 + position },
          testTimeout: 180_000 * factor,
          hookTimeout: 120_000,
        },
      })),
    ],
  },
});
