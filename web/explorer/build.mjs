// Bundles src/ into the one script of a page: `npm ci && npm run build`.
// The first line of the result names the digest of the sources it was built from.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "../../src/sekgnn/wl/explorer/explorer.js");

const modules = readdirSync(join(here, "src")).map((name) => `src/${name}`);
const digest = createHash("sha256");
for (const name of ["build.mjs", "package-lock.json", "package.json", ...modules].sort()) {
  const text = readFileSync(join(here, name));
  digest.update(`\n${name} ${text.length}\n`);
  digest.update(text);
}

const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
});

// What others wrote, with their licences; packages that share a text are named together.
const licences = new Map();
const used = Object.keys(result.metafile.inputs)
  .map((path) => /^node_modules\/([^/]+)\//.exec(path)?.[1])
  .filter(Boolean);
for (const name of [...new Set(used)].sort()) {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
  const shared = licences.get(text) ?? [];
  licences.set(text, [...shared, `${name} ${about.version} (${about.license})`]);
}
const notices = [...licences].map(([text, names]) => `${names.join(", ")}:\n\n${text}`);

const head = `/*! sekgnn explorer, built from sources sha256:${digest.digest("hex")} */`;
const notice = `/*!\nContains, unchanged but for being shortened:\n\n${notices.join("\n\n")}\n*/`;
writeFileSync(target, `${head}\n${notice}\n${result.outputFiles[0].text}`);
