/** Writes the static files once before tests that ask a running service for them. */
import { writePublicFiles } from "../../src/tools/public-files.ts";

export default function setup(): void {
  writePublicFiles();
}
