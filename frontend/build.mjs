// Rebuilds static/editor and static/vendor from the packages pinned in package-lock.json.
// The results are committed, so running Kelolo needs neither node nor npm:
//   cd frontend && npm ci && npm run build
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const fromPackages = path.join(here, "node_modules");
const staticFolder = path.join(here, "..", "static");

// style-mod writes a <style> element into a document, which our Content-Security-Policy refuses.
// It already knows constructed style sheets, which the policy allows, but keeps them for shadow roots.
const styleSheetsWithoutInlineStyle = {
  name: "style-sheets-without-inline-style",
  setup(bundle) {
    bundle.onLoad({ filter: /style-mod\.js$/ }, async ({ path: file }) => {
      const source = await readFile(file, "utf8");
      const condition = "!root.head && root.adoptedStyleSheets";
      if (!source.includes(condition)) throw new Error(`style-mod has changed: look at ${file} again`);
      return { contents: source.replace(condition, "root.adoptedStyleSheets"), loader: "js" };
    });
  },
};

/** The licence text of every package whose code is in the bundle, one after the other. */
async function licencesOf(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) names.add(found[1]);
  }
  const parts = [];
  for (const name of [...names].sort()) {
    const folder = path.join(fromPackages, name);
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? await readFile(path.join(folder, file), "utf8") : `Licence: ${license}\n`;
    parts.push(`${name} ${version}\n${"=".repeat(72)}\n${text.trim()}\n`);
  }
  return parts.join("\n\n");
}

async function bundleEditor() {
  const folder = path.join(staticFolder, "editor");
  await rm(folder, { recursive: true, force: true });
  const result = await build({
    entryPoints: [path.join(here, "src", "exercise.js")],
    outfile: path.join(folder, "exercise.js"),
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022"],
    legalComments: "none",
    metafile: true,
    plugins: [styleSheetsWithoutInlineStyle],
  });
  await writeFile(path.join(folder, "LICENCES.txt"), await licencesOf(result.metafile));
}

async function vendor(target, files) {
  const folder = path.join(here, "..", target);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [source, name] of files) await cp(path.join(fromPackages, source), path.join(folder, name));
}

await bundleEditor();
await vendor("static/vendor/htmx", [
  ["htmx.org/dist/htmx.min.js", "htmx.min.js"],
  ["htmx.org/LICENSE", "LICENSE.txt"],
]);
await vendor("static/vendor/htmx-ext-sse", [
  ["htmx-ext-sse/dist/sse.min.js", "sse.min.js"],
  ["htmx-ext-sse/LICENSE", "LICENSE.txt"],
]);
await vendor("static/vendor/inter", [
  ["@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", "inter.woff2"],
  ["@fontsource-variable/inter/LICENSE", "LICENSE.txt"],
]);
await vendor("static/vendor/jetbrains-mono", [
  ["@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2", "jetbrains-mono.woff2"],
  ["@fontsource-variable/jetbrains-mono/LICENSE", "LICENSE.txt"],
]);
await vendor("tests/browser/vendor/axe-core", [
  ["axe-core/axe.min.js", "axe.min.js"],
  ["axe-core/LICENSE", "LICENSE.txt"],
]);
