import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import Sequencer from '@jest/test-sequencer'

/** The seconds of long test files by file name. `npm run test:durations` writes the file. */
const durations = JSON.parse(readFileSync(join(import.meta.dirname, '../durations.json'), 'utf8'))

/**
 * Starts the longest test files first, so that no long file runs alone at the end. The keys are file names without
 * folders, so that a moved file keeps its duration. `--randomize` shuffles the files by the seed of the run instead.
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
