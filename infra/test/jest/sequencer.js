import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import Sequencer from '@jest/test-sequencer'

/** Seconds by file name, for files that take long. `npm run test:durations` writes it. */
const durations = JSON.parse(readFileSync(join(import.meta.dirname, '../durations.json'), 'utf8'))

/**
 * Runs the test files that take longest first, so that no worker is left with a long one at the end. File names are the
 * keys, without folders: a moved file keeps its duration. `--randomize` shuffles the files by the run's seed instead.
 */
export default class LongestFirst extends Sequencer {
  constructor(options) {
    super(options)
    this.globalConfig = options.globalConfig
  }

  sort(tests) {
    const { randomize, seed } = this.globalConfig
    const rank = randomize ? (path) => hash(`${seed} ${path}`) : (path) => durations[basename(path)] ?? 0
    return [...tests].sort((one, other) => rank(other.path) - rank(one.path) || one.path.localeCompare(other.path))
  }
}

function hash(text) {
  let sum = 0
  for (const character of text) sum = (Math.imul(sum, 31) + character.codePointAt(0)) >>> 0
  return Math.imul(sum, 2_654_435_761) >>> 0
}
