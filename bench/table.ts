/**
 * Tables and progress of the benchmarks, for a terminal of 80 columns.
 * May import: Node. Rule: what goes on is told on the standard error, so that a table can be kept.
 */

/** Whether tables are printed as those of a document. */
export const isMarkdown = process.env.BENCH_MARKDOWN === "1" || process.argv.includes("--markdown");

/** Text stands left, numbers stand right. Shape: `digits` after the point; absent: as it is. */
export interface Column {
  readonly title: string;
  readonly width: number;
  readonly digits?: number;
}

export type Value = string | number | undefined;

/** The line of titles. */
export function head(columns: readonly Column[]): string {
  const cells = columns.map(({ title, ...column }) => cell(column, title, isText(column)));
  if (!isMarkdown) return cells.join(" ");
  const rule = columns.map((column) => (isText(column) ? "---" : "--:"));
  return `${row(cells)}\n${row(rule)}`;
}

/** One line of values; an absent one, and what is not a number, was not measured. */
export function line(columns: readonly Column[], values: readonly Value[]): string {
  const cells = columns.map((column, index) => {
    const value = values[index];
    const isNumber = typeof value === "number" && !Number.isNaN(value);
    const text = isNumber ? value.toFixed(column.digits ?? 0) : typeof value === "string" ? value : "–";
    return cell(column, text, isText(column));
  });
  return isMarkdown ? row(cells) : cells.join(" ").trimEnd();
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.trim()).join(" | ")} |`;
}

function isText({ digits }: Pick<Column, "digits">): boolean {
  return digits === undefined;
}

function cell({ width }: Pick<Column, "width">, text: string, left: boolean): string {
  return left ? text.padEnd(width) : text.padStart(width);
}

const BAR = 40;

/** Shows how far a long step has come; on a terminal in one line. */
export class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #beganAt = performance.now();
  #shown = -1;

  constructor(what: string, total: number) {
    this.#what = what;
    this.#total = total;
  }

  show(done: number): void {
    const share = Math.min(1, done / this.#total);
    const full = Math.floor(share * BAR);
    if (full === this.#shown) return;
    this.#shown = full;
    const seconds = ((performance.now() - this.#beganAt) / 1000).toFixed(0);
    const bar = "#".repeat(full).padEnd(BAR, ".");
    const text = `[${bar}] ${this.#what}, ${seconds} s`;
    if (process.stderr.isTTY) process.stderr.write(`\r${text}${full === BAR ? "\n" : ""}`);
    else if (full % 10 === 0) process.stderr.write(`${text}\n`);
  }
}
