/**
 * What can be said of a statement from its text: where it ends, what it writes, whether the
 * platform allows it. May import: nothing.
 */

/** How a statement changes the database. */
export type SqlEffect = { kind: "read" } | SchemaEffect | RowsEffect;

export interface SchemaEffect {
  kind: "schema";
  /** The table that it creates, if it does. */
  table?: string;
}

export interface RowsEffect {
  kind: "rows";
  verb: "insert" | "update" | "delete";
  table: string;
  /** Columns that an UPDATE or an upsert sets, and some more that its expressions compare. */
  sets: string[];
}

const FORBIDDEN = /^(begin|commit|end|rollback|savepoint|release|attach|detach|vacuum)\b/i;
const ALLOWED_PRAGMAS = new Set([
  "table_info",
  "table_xinfo",
  "table_list",
  "index_list",
  "index_info",
  "index_xinfo",
  "foreign_keys",
  "defer_foreign_keys",
  "foreign_key_list",
  "foreign_key_check",
  "quick_check",
  "optimize",
]);
const NAME = String.raw`["\x60[]?(\w+)`;
const ROWS = [
  {
    verb: "insert",
    shape: new RegExp(String.raw`\b(?:insert(?:\s+or\s+\w+)?|replace)\s+into\s+${NAME}`, "i"),
  },
  { verb: "delete", shape: new RegExp(String.raw`\bdelete\s+from\s+${NAME}`, "i") },
  { verb: "update", shape: new RegExp(String.raw`\bupdate\s+(?:or\s+\w+\s+)?${NAME}`, "i") },
] as const;

const CREATED_TABLE = new RegExp(String.raw`^create\s+table\s+(?:if\s+not\s+exists\s+)?${NAME}`, "i");

/** Tells what one statement does. Rejects: what the platform does not let an object run. */
export function effectOf(statement: string): SqlEffect {
  const text = withoutLeadingComments(statement);
  if (FORBIDDEN.test(text)) {
    throw new Error(`not allowed in an object, use transactionSync(): ${text.slice(0, 40)}`);
  }
  const pragma = /^pragma\s+(\w+)/i.exec(text)?.[1]?.toLowerCase();
  if (pragma !== undefined && !ALLOWED_PRAGMAS.has(pragma))
    throw new Error(`not authorized: PRAGMA ${pragma}`);
  if (/^(create|drop|alter|reindex|analyze)\b/i.test(text)) {
    const created = CREATED_TABLE.exec(text)?.[1];
    return created === undefined ? { kind: "schema" } : { kind: "schema", table: created };
  }
  if (!/^(insert|replace|update|delete|with)\b/i.test(text)) return { kind: "read" };
  for (const { verb, shape } of ROWS) {
    const table = shape.exec(text)?.[1];
    if (table !== undefined) return { kind: "rows", verb, table, sets: columnsSet(text) };
  }
  return { kind: "read" };
}

function columnsSet(text: string): string[] {
  const assignments = /\bset\b([\s\S]*)/i.exec(text)?.[1] ?? "";
  return [...assignments.matchAll(/(\w+)["\x60\]]?\s*=/g)].map((found) => found[1] as string);
}

/** Cuts a text at its top-level semicolons; comments and quoted text are left whole. */
export function splitStatements(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let at = 0;
  while (at < text.length) {
    const end = skipped(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    if (text[at] === ";") {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
    at++;
  }
  parts.push(text.slice(start));
  return parts.filter((part) => withoutLeadingComments(part) !== "");
}

/** Returns where a quoted text or a comment that starts here ends, or the same place. */
function skipped(text: string, at: number): number {
  const char = text[at];
  if (char === "'" || char === '"' || char === "`") return endAfter(text, char, at + 1);
  if (text.startsWith("--", at)) return endAfter(text, "\n", at);
  if (text.startsWith("/*", at)) return endAfter(text, "*/", at + 2);
  return at;
}

function endAfter(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found + mark.length;
}

function withoutLeadingComments(text: string): string {
  return text.replace(/^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "").trimEnd();
}
