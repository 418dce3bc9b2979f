import preset from '../../jest.preset.js'

export default {
  ...preset,
  globalSetup: '<rootDir>/test/shared-identity/start.ts',
  globalTeardown: '<rootDir>/test/shared-identity/stop.ts',
}
