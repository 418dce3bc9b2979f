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

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  async setup() {}

  /** What a file replaced and did not put back would reach the next file of this worker. */
  async teardown() {
    this.fakeTimersModern.dispose()
    mocker.restoreAllMocks()
  }

  getVmContext() {
    return null
  }
}
