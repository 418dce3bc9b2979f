import { createRequire, flushCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { globalsAddress, setGlobals } from './globals.js'

/**
 * Jest runtime that imports test files with Node itself: modules are loaded once for all test files of a worker, types are
 * stripped by Node, and stack traces show the lines of the sources. Only test files themselves are evaluated for each run.
 * Jest's own runtime evaluates every module again for every test file, which costs more than the tests do.
 */
export default class NativeRuntime {
  #environment

  constructor(_config, environment) {
    this.#environment = environment
  }

  /** Jest loads its test framework with this. It keeps the state of one test file, so each file gets a new one. */
  requireInternalModule(file) {
    for (const path of Object.keys(require.cache)) if (path.includes('/jest-circus/')) delete require.cache[path]
    delete globalThis[Symbol.for('EVENT_HANDLERS')]
    delete globalThis[timeout]
    return require(file)
  }

  requireModule(file) {
    return require(file)
  }

  unstable_shouldLoadAsEsm() {
    return true
  }

  /** The query makes the address new, so that Node evaluates the file again when a worker runs it twice. */
  async unstable_importModule(file) {
    evaluated += 1
    await import(`${pathToFileURL(file).href}?${evaluated}`)
  }

  setGlobalsForRuntime(globals) {
    setGlobals({ ...globals, jest: jestObject(this.#environment) })
  }

  enterTestCode() {}
  leaveTestCode() {}

  /** Compiled modules are written now: workers and programs that start later load them from there. */
  teardown() {
    flushCompileCache()
  }

  getSourceMaps() {
    return new Map()
  }

  getAllCoverageInfoCopy() {
    return undefined
  }
}

const require = createRequire(import.meta.url)
const timeout = Symbol.for('TEST_TIMEOUT_SYMBOL')
let evaluated = 0

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globalsAddress, shortCircuit: true } : next(specifier, context),
})

/**
 * Jest tells a worker to end with the message [2] and kills it half a second later. Sockets that a test file left open
 * would keep the process until then.
 */
process.on('message', ([kind]) => {
  if (kind === 2) process.exit()
})

/** The parts of the `jest` object that make sense without a sandbox: mocks, spies, fake timers and the time limit. */
function jestObject({ moduleMocker, fakeTimersModern: timers }) {
  return {
    fn: moduleMocker.fn.bind(moduleMocker),
    spyOn: moduleMocker.spyOn.bind(moduleMocker),
    restoreAllMocks: () => moduleMocker.restoreAllMocks(),
    useFakeTimers: (options) => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
    advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    setTimeout: (ms) => void (globalThis[timeout] = ms),
  }
}
