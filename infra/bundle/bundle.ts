import { globSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { affectedApps } from '../local/affected-apps.ts'
import { inPlace, leave, threadIn } from './in-place.ts'
import { pinoCaller } from './pino-caller.ts'

const apps = ['identity', 'pipeline'] as const

/** They bring binaries, or look for files of theirs: imported from where npm put them, when they are needed. */
const left = ['@node-rs/argon2', 'oracledb']

/** CommonJS of libraries asks for Node's own modules by `require`, which a module does not have. */
const banner = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`

/**
 * Makes of every program of apps/<app>/bin, and of every thread that one starts, a file `<folder>/<app>/<name>.js` with what
 * it needs, and parts that are shared or imported later beside it. `folder` is absolute; the checkout, with its
 * node_modules, stays needed where it is from there. What the folder held is removed. Answers the files that went in, relative to `root`. Throws what
 * esbuild says of code that does not resolve.
 */
export async function bundle(root: string, folder: string): Promise<string[]> {
  await rm(folder, { recursive: true, force: true })
  const built = await Promise.all(apps.map((app) => bundleApp(root, app, join(folder, app))))
  return [...new Set(built.flat())]
}

async function bundleApp(root: string, app: string, outdir: string): Promise<string[]> {
  const packages = globSync('packages/*', { cwd: root }).filter((folder) => affectedApps(root, folder).includes(app))
  const folders = [`apps/${app}/bin`, `apps/${app}/src`, ...packages.map((folder) => `${folder}/src`)]
  const sources = folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((file) => !file.endsWith('.test.ts'))
  const programs = sources.filter((file) => file.startsWith(join('apps', app, 'bin')))
  const threads = sources.flatMap((file) => threadIn(readFileSync(join(root, file), 'utf8'), file) ?? [])
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
    // Classes are known by their names in logs and in answers.
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    // What a program's text weighs is held by each thread of it. Names stay, and lines that can be told apart.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    // pg asks for it where somebody wants it, and does without.
    external: ['pg-native'],
    banner: { js: banner },
    plugins: [inPlace(root, outdir), leave(left), pinoCaller],
    metafile: true,
    logLevel: 'silent',
  })
  return Object.keys(metafile.inputs)
}
