import { relative } from 'node:path'
import { ModernFakeTimers } from '@jest/fake-timers'
import { ModuleMocker } from 'jest-mock'

/** Creates the mocks of all test files of this process. */
const mocker = new ModuleMocker(globalThis)

/**
 * A Jest environment without a sandbox: tests run in the global scope of the worker. Jest writes its globals to
 * `global`, which is not used, because runtime.js passes the globals to the tests.
 */
export default class NativeEnvironment {
  global = {}
  moduleMocker = mocker

  constructor({ projectConfig }, { testPath }) {
    // Printed with the names of the databases that SLUICE_KEEP_DATABASES keeps.
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
