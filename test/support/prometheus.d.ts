/** What the parser of the Prometheus text format gives; it brings no types of its own. */
declare module "parse-prometheus-text-format" {
  export interface ParsedFamily {
    readonly name: string;
    readonly help: string;
    readonly type: "GAUGE" | "COUNTER" | "UNTYPED";
    readonly metrics: readonly {
      readonly value: string;
      readonly labels?: Readonly<Record<string, string>>;
    }[];
  }
  export default function parse(text: string): ParsedFamily[];
}
