import { globSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { findAffectedApps } from './affected-apps.ts'
import { keepSourcePaths, externalizePackages, findThreadPath } from './esbuild-plugins.ts'
import { omitLibraryMappings } from './omit-library-mappings.ts'
import { skipPinoCallerLookup } from './skip-pino-caller-lookup.ts'

const apps = ['identity', 'pipeline'] as const

/** Packages with binaries or data files. The bundles import them from node_modules. */
const externalPackages = ['@node-rs/argon2', 'oracledb']

/** Defines `require`, which CommonJS libraries call and ES modules do not have. */
const banner = `import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);`

/**
 * Bundles every program of apps/<app>/bin, and every thread that one starts, into `<folder>/<app>/<name>.js`. Shared
 * and lazily imported code becomes separate files next to it. `folder` is absolute and is emptied first. The bundle
 * still needs the checkout with its node_modules at the same relative path. Returns the bundled files, relative to
 * `root`. Throws esbuild's error if an import cannot be resolved.
 */
export async function bundle(root: string, folder: string): Promise<string[]> {
  await rm(folder, { recursive: true, force: true })
  const built = await Promise.all(apps.map((app) => bundleApp(root, app, join(folder, app))))
  return [...new Set(built.flat())]
}

async function bundleApp(root: string, app: string, outdir: string): Promise<string[]> {
  const packages = globSync('packages/*', { cwd: root }).filter((folder) =>
    findAffectedApps(root, folder).includes(app),
  )
  const folders = [`apps/${app}/bin`, `apps/${app}/src`, ...packages.map((folder) => `${folder}/src`)]
  const sources = folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((file) => !file.endsWith('.test.ts'))
  const programs = sources.filter((file) => file.startsWith(join('apps', app, 'bin')))
  const threads = sources.flatMap((file) => findThreadPath(readFileSync(join(root, file), 'utf8'), file) ?? [])
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([...programs, ...threads].map((file) => [basename(file, '.ts'), join(root, file)])),
    outdir,
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    // Logs and responses contain class names.
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    // Each thread keeps its source text in memory. Names and line breaks are kept for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    // pg works without this optional dependency.
    external: ['pg-native'],
    banner: { js: banner },
    plugins: [keepSourcePaths(root, outdir), externalizePackages(externalPackages), skipPinoCallerLookup],
    metafile: true,
    logLevel: 'silent',
  })
  const sourceMaps = Object.keys(metafile.outputs).filter((file) => file.endsWith('.map'))
  await Promise.all(sourceMaps.map((file) => omitLibraryMappings(join(root, file))))
  return Object.keys(metafile.inputs)
}
