/**
 * The Prometheus text format 0.0.4: families of samples as lines.
 * May import: nothing. All samples of a name stand together, under one HELP and one TYPE.
 */

/** What an answer in this format says that it is. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  /** Texts are decimal digits: counts of IPv6 addresses exceed what a number holds. */
  readonly value: number | string;
}

export interface MetricFamily {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Writes families; one without samples is left out. */
export function metricsText(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of families) {
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`);
    for (const { labels, value } of samples) lines.push(`${name}${labelText(labels)} ${value}`);
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  let pairs = "";
  for (const name in labels) {
    const value = escaped(labels[name] ?? "").replaceAll('"', '\\"');
    pairs += `${pairs === "" ? "" : ","}${name}="${value}"`;
  }
  return pairs === "" ? "" : `{${pairs}}`;
}

function escaped(text: string): string {
  if (!text.includes("\\") && !text.includes("\n")) return text;
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
