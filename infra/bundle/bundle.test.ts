import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { root, state } from '../paths.ts'
import { UserError } from '../user-error.ts'
import { bundle } from './bundle.ts'
import { bundledPrograms, programSources } from './bundled-programs.ts'
import { rebuildStaleBundles } from './rebuild-stale-bundles.ts'

let folder: string
beforeAll(() => {
  mkdirSync(state, { recursive: true })
  // Inside the checkout, so that Node finds its node_modules.
  folder = mkdtempSync(join(state, 'bundle-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program without configuration. Returns its output and exit code. */
function runUnconfigured(file: string) {
  const { NODE_COMPILE_CACHE } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    env: NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {},
    encoding: 'utf8',
    maxBuffer: 16_000_000,
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

describe('the bundled programs of both apps', () => {
  /** `npm test` has built the bundles already. */
  const built = process.env['SLUICE_TEST_BUILT'] ?? join(folder, 'built')
  beforeAll(async () => {
    if (!process.env['SLUICE_TEST_BUILT']) await bundle(root, built)
  })

  const programs = ['identity', 'pipeline'].flatMap((app) =>
    readdirSync(join(root, 'apps', app, 'bin')).map((file) => [app, basename(file, '.ts')] as const),
  )
  it.each(isLongRun ? programs : programs.filter(([, name]) => ['serve', 'run-worker'].includes(name)))(
    '%s: %s prints the same and ends with the same status as its source without configuration',
    (app, name) => {
      const result = runUnconfigured(bundledPrograms(root, built).file(app, name))
      expect(result.stdout + result.stderr).not.toBe('')
      expect(result).toEqual(runUnconfigured(programSources(root).file(app, name)))
    },
  )

  it('include each worker thread, which refuses to run as a program', () => {
    const names = readdirSync(join(built, 'pipeline')).filter((name) => name.endsWith('-thread.js'))
    expect(names.toSorted()).toEqual([
      'database-thread.js',
      'encoder-thread.js',
      'http-system-thread.js',
      'reader-thread.js',
    ])
    for (const name of names)
      expect(runUnconfigured(join(built, 'pipeline', name)).stderr).toContain('is a worker thread, not a program')
  })

  const readPipelineFile = (file: string) => readFileSync(join(built, 'pipeline', file), 'utf8')
  const listImports = (file: string, pattern: RegExp) =>
    [...readPipelineFile(file).matchAll(pattern)].map(([, imported]) => imported!)
  /** Returns a file with all that it imports when it is loaded. */
  function listLoadedFiles(file: string): string[] {
    const loadedFiles = new Set([file])
    // The loop also visits the files that it adds.
    for (const loadedFile of loadedFiles)
      for (const imported of listImports(loadedFile, /(?:from|import)"\.\/([\w-]+\.js)"/g)) loadedFiles.add(imported)
    return [...loadedFiles]
  }
  const listSources = (file: string) => (JSON.parse(readPipelineFile(`${file}.map`)) as { sources: string[] }).sources
  const listLoadedSources = (file: string) => listLoadedFiles(file).flatMap(listSources)

  it('run the worker without loading express, which only the API needs', () => {
    expect(listLoadedSources('serve.js')).toContainEqual(expect.stringContaining('node_modules/express/'))
    const sources = listLoadedSources('run-worker.js')
    expect(sources).toContainEqual(expect.stringContaining('pipeline/bin/run-worker.ts'))
    expect(sources.filter((source) => source.includes('node_modules/express/'))).toEqual([])
  })

  it('read systems without loading ajv and the schemas of requests, which take 5 MB in each thread', () => {
    const connectors = listLoadedFiles('http-system-thread.js')
      .flatMap((file) => listImports(file, /import\("\.\/([\w-]+\.js)"\)/g))
      .filter((file) => !listSources(file).some((source) => source.endsWith('-settings.ts')))
    expect(connectors.flatMap(listSources)).toContainEqual(expect.stringContaining('function/function-call.ts'))
    for (const connector of connectors) {
      const sources = listLoadedSources(connector).filter((source) => /node_modules\/(ajv|typebox)\//.test(source))
      expect([connector, sources]).toEqual([connector, []])
    }
  })

  it('do not call getCallSite, which makes Node read whole source maps at each start', () => {
    for (const app of ['identity', 'pipeline'])
      for (const name of readdirSync(join(built, app)).filter((file) => file.endsWith('.js')))
        expect([name, readFileSync(join(built, app, name), 'utf8').includes('getCallSite')]).toEqual([name, false])
  })
})

describe('rebuildStaleBundles, which bundles the programs of a checkout', () => {
  /** Creates a checkout of two apps with one program each. */
  function createCheckout() {
    const checkout = mkdtempSync(join(folder, 'checkout-'))
    for (const app of ['identity', 'pipeline']) {
      mkdirSync(join(checkout, 'apps', app, 'bin'), { recursive: true })
      mkdirSync(join(checkout, 'apps', app, 'src'))
      writeFileSync(join(checkout, 'apps', app, 'src/word.ts'), "export const word: string = 'before'\n")
      writeFileSync(
        join(checkout, 'apps', app, 'bin/print-word.ts'),
        "import { word } from '../src/word.ts'\nconsole.log(word, import.meta.dirname, import.meta.url)\n",
      )
    }
    return checkout
  }
  const runProgram = (checkout: string) => runUnconfigured(join(checkout, 'built/pipeline/print-word.js')).stdout

  it('keeps the bundles while the sources are unchanged and rebuilds them after a source changes', async () => {
    const checkout = createCheckout()
    const rebuild = async () => {
      await rebuildStaleBundles(checkout, join(checkout, 'built'))
      return statSync(join(checkout, 'built/pipeline/print-word.js')).mtimeMs
    }
    const first = await rebuild()
    expect(await rebuild()).toBe(first)
    const word = join(checkout, 'apps/pipeline/src/word.ts')
    writeFileSync(word, "export const word: string = 'after!'\n")
    utimesSync(word, new Date(), new Date(Date.now() + 5_000))
    expect(await rebuild()).toBeGreaterThan(first)
    expect(runProgram(checkout)).toContain('after!')
  })

  it('names the module that is missing, and bundles once the package is complete', async () => {
    const checkout = createCheckout()
    writeFileSync(join(checkout, 'apps/pipeline/src/word.ts'), "export { word } from 'lost-package'\n")
    const rebuild = () => rebuildStaleBundles(checkout, join(checkout, 'built'))
    await expect(rebuild()).rejects.toEqual(
      new UserError('node_modules is incomplete: "lost-package" was not found. Run "npm ci" and start again.'),
    )
    const found = join(checkout, 'node_modules/lost-package')
    mkdirSync(found, { recursive: true })
    writeFileSync(join(found, 'index.js'), "export { word } from './part.js'\n")
    await expect(rebuild()).rejects.toThrow('node_modules is incomplete: "./part.js" was not found.')
    writeFileSync(join(found, 'part.js'), "export const word = 'found'\n")
    await rebuild()
    expect(runProgram(checkout)).toContain('found')
  })

  it('maps stack traces to lines of sources, except in libraries', async () => {
    const checkout = createCheckout()
    const library = join(checkout, 'node_modules/thrower')
    mkdirSync(library, { recursive: true })
    writeFileSync(join(library, 'index.js'), 'export function callBack(run) {\n  return run()\n}\n')
    writeFileSync(
      join(checkout, 'apps/pipeline/bin/print-word.ts'),
      "import { callBack } from 'thrower'\n\ncallBack(function throwError() {\n  throw new Error('thrown')\n})\n",
    )
    await rebuildStaleBundles(checkout, join(checkout, 'built'))
    const program = join(checkout, 'built/pipeline/print-word.js')
    const { stderr } = spawnSync(process.execPath, ['--enable-source-maps', program], { encoding: 'utf8' })
    const frames = stderr.split('\n').filter((line) => /throwError|callBack/.test(line) && line.includes('at '))
    expect(frames).toEqual([
      expect.stringContaining('bin/print-word.ts:4:9'),
      expect.stringContaining('built/pipeline/print-word.js:'),
    ])
  })

  it('sets import.meta.dirname and import.meta.url to the folder and file of the source', async () => {
    const checkout = createCheckout()
    await rebuildStaleBundles(checkout, join(checkout, 'built'))
    const sourceFolder = join(checkout, 'apps/pipeline/bin')
    const [, dirname, url] = runProgram(checkout).trim().split(' ')
    expect([join(dirname!), url]).toEqual([sourceFolder, new URL(`file://${sourceFolder}/print-word.ts`).href])
  })
})
