import preset from '../../jest.preset.js'

/** The longest of all suites: it goes on when the others are through, and then has the machine to itself. */
export default { ...preset, maxWorkers: '100%' }
