import preset from '../../jest.preset.js'

export default {
  ...preset,
  // By far the longest: when the other packages are done, it has the machine to itself. Much of it is waiting, too.
  maxWorkers: '100%',
  globalSetup: '<rootDir>/test/shared-identity/start.ts',
  globalTeardown: '<rootDir>/test/shared-identity/stop.ts',
}
