import preset from '../../jest.preset.js'

/** Many of its tests wait, for workers to be missed and taken over: a file for each core leaves the machine to others, too. */
export default {
  ...preset,
  maxWorkers: '100%',
  globalSetup: '<rootDir>/test/shared-identity/start.ts',
  globalTeardown: '<rootDir>/test/shared-identity/stop.ts',
}
