/**
 * Writes types.ts from openapi.yaml; `--check` compares instead. `npm run openapi` runs it.
 * May import: Node and openapi-typescript. Rule: nobody edits types.ts by hand.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const document = new URL("../../../openapi.yaml", import.meta.url);
const typesFile = fileURLToPath(new URL("types.ts", import.meta.url));

const HEADER = `/** Made from openapi.yaml by \`npm run openapi\`; do not edit. */
// biome-ignore-all lint: generated
// biome-ignore-all format: generated
// biome-ignore-all assist: generated
`;

const types = HEADER + astToString(await openapiTS(document));
if (!process.argv.includes("--check")) {
  writeFileSync(typesFile, types);
} else if (readFileSync(typesFile, "utf8") !== types) {
  console.error("test/support/api/types.ts is not what openapi.yaml says: run `npm run openapi`");
  process.exitCode = 1;
}
