/**
 * Reduces a checkout to the manifests that a production install reads: the lock file and each package.json without
 * its scripts and development dependencies. Of the root's own dependencies (the embedded database, Node itself), which serve
 * a developer's machine, those go too that are not named, and so does packages/testing: npm takes what a workspace depends on for
 * production dependencies, and would install the test tools in spite of --omit=dev.
 *
 * The install layer depends on this result alone, so a changed script or linter leaves it cached.
 *
 *     node production-manifests.ts <checkout> <target> [dependency of the root]...
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [checkout, target, ...kept] = process.argv.slice(2)
if (checkout === undefined || target === undefined) throw new Error('give the checkout and the target directory')

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(target, path)), { recursive: true })
  writeFileSync(join(target, path), text)
}

write('package-lock.json', readFileSync(join(checkout, 'package-lock.json'), 'utf8'))

for (const path of globSync(['package.json', 'apps/*/package.json', 'packages/*/package.json'], { cwd: checkout })) {
  if (dirname(path) === 'packages/testing') continue
  const manifest = JSON.parse(readFileSync(join(checkout, path), 'utf8'))
  delete manifest.scripts
  delete manifest.devDependencies
  if (path === 'package.json')
    manifest.dependencies = Object.fromEntries(kept.map((name) => [name, manifest.dependencies[name]]))
  write(path, `${JSON.stringify(manifest, null, 2)}\n`)
}
