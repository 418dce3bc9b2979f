import preset from './jest.preset.js'

/** The tests of infra/; packages and apps have their own jest.config.js. `npm test` runs all of them. */
export default { ...preset, roots: ['<rootDir>/infra'] }
