import { createRequire, flushCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { globalsAddress, setGlobals } from './globals.js'

/**
 * A Jest runtime that imports test files with Node. Node strips the types, and loads other modules once for all test
 * files of a worker. The default runtime of Jest evaluates every module again for each test file, which takes longer
 * than the tests.
 */
export default class NativeRuntime {
  #environment

  constructor(_config, environment) {
    this.#environment = environment
  }

  /** Loads the test framework of Jest. It has the state of one test file, so each file gets a new instance. */
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

  /** Imports a test file. The query makes the URL unique, so that Node evaluates the file again for each run. */
  async unstable_importModule(file) {
    evaluationCount += 1
    await import(`${pathToFileURL(file).href}?${evaluationCount}`)
  }

  setGlobalsForRuntime(globals) {
    setGlobals({ ...globals, jest: createJestObject(this.#environment) })
  }

  enterTestCode() {}
  leaveTestCode() {}

  /** Writes the compile cache now, so that workers and programs that start later can use it. */
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
let evaluationCount = 0

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globalsAddress, shortCircuit: true } : next(specifier, context),
})

/**
 * The message [2] of Jest requests the end of the worker. Open sockets of tests would keep the process running until
 * Jest kills it half a second later.
 */
process.on('message', ([kind]) => {
  if (kind === 2) process.exit()
})

/** Returns a `jest` object with mocks, spies, fake timers and the timeout. The other functions need a sandbox. */
function createJestObject({ moduleMocker, fakeTimersModern: timers }) {
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
