import { relative } from 'node:path'
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

/** The fake timers and mocks that replace globals of this process; one of each for all of its test files. */
const mocker = new ModuleMocker(globalThis)

/**
 * Jest test environment without a sandbox: tests run in the worker's own global scope. Jest writes its console and its
 * globals into `global`, which nobody reads here (runtime.js hands the globals to the tests).
 */
export default class NativeEnvironment {
  global = {}
  moduleMocker = mocker

  constructor({ projectConfig }, { testPath }) {
    // Named beside the databases that SLUICE_KEEP_DATABASES keeps.
    process.env.SLUICE_TEST_FILE = relative(process.cwd(), testPath)
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  async setup() {}

  /** Undoes mocks and fake timers, so that they do not reach the worker's next file. */
  async teardown() {
    this.fakeTimersModern.dispose()
    mocker.restoreAllMocks()
  }

  getVmContext() {
    return null
  }
}
