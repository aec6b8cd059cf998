/** `npm run dev`: the same API under wrangler's development server, which reloads on every change. */
import { writePublicFiles } from "./public-files.ts";
import { run } from "./run.ts";

writePublicFiles();
const { status } = await run("wrangler", [
  "dev",
  "--ip=127.0.0.1",
  `--port=${process.env.PORT || "8787"}`,
  // Only ever loopback, so nobody has to show a token.
  "--var=AUTH_MODE:none",
  "--var=PLATFORM:local",
  ...process.argv.slice(2),
]);
process.exitCode = status;
