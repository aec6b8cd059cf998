/**
 * Writes openapi.yaml and the static files that the service hands out; `--check` compares instead.
 * The document comes from the routes alone: nobody edits openapi.yaml by hand.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { stringify } from "yaml";
import { type ApiDocument, apiDocument } from "../http/document.ts";
import { repositoryRoot } from "./bundle.ts";
import { errorPages } from "./error-pages.ts";

const yamlFile = resolve(repositoryRoot, "openapi.yaml");
const publicFolder = resolve(repositoryRoot, "dist/public");
const pagesFolder = resolve(import.meta.dirname, "pages");

/** The document as YAML text, without anchors and folded lines. */
function yamlOf(document: ApiDocument): string {
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** Tells what keeps the document from being published; undefined when nothing does. */
async function complaintOf(document: ApiDocument): Promise<string | undefined> {
  const { openapi: _three, ...as30 } = document;
  const { openapi: _one, ...as31 } = apiDocument("3.1.0");
  if (JSON.stringify(as30) !== JSON.stringify(as31)) {
    return "as OpenAPI 3.1 the document differs in more than its version";
  }
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  return valid ? undefined : `the document is not valid OpenAPI 3.0.3: ${JSON.stringify(errors)}`;
}

/** Every static file by its path below the public folder. */
function staticFiles(document: ApiDocument, yaml: string): Map<string, string | Buffer> {
  const swagger = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const copied = (folder: string, name: string): Buffer => readFileSync(join(folder, name));
  return new Map<string, string | Buffer>([
    ["index.html", copied(pagesFolder, "index.html")],
    ["openapi.json", `${JSON.stringify(document, null, 2)}\n`],
    ["openapi.yaml", yaml],
    ["docs/index.html", copied(pagesFolder, "docs.html")],
    ["docs/page.css", copied(pagesFolder, "page.css")],
    ["docs/start.js", copied(pagesFolder, "start.js")],
    ["docs/swagger-ui.css", copied(swagger, "swagger-ui.css")],
    ["docs/swagger-ui-bundle.js", copied(swagger, "swagger-ui-bundle.js")],
    ...errorPages(),
  ]);
}

/** Writes a file if it differs; beside the target first, so that a running service never reads half of it. */
function write(path: string, content: string | Buffer): void {
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(content))) return;
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}

async function main(): Promise<number> {
  const document = apiDocument();
  const yaml = yamlOf(document);
  const complaint = await complaintOf(document);
  if (complaint !== undefined) {
    console.error(complaint);
    return 1;
  }
  if (process.argv.includes("--check")) {
    if (existsSync(yamlFile) && readFileSync(yamlFile, "utf8") === yaml) return 0;
    console.error("openapi.yaml is not what the routes say: run `npm run openapi` and commit it");
    return 1;
  }
  write(yamlFile, yaml);
  for (const [path, content] of staticFiles(document, yaml)) write(join(publicFolder, path), content);
  return 0;
}

process.exitCode = await main();
