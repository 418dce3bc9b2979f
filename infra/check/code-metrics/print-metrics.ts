import { parseArgs } from 'node:util'
import { measureCounts } from './code-metrics.ts'
import { readProductSources } from './product-sources.ts'
import { readLimits, formatCounts, lowerLimits } from './metric-limits.ts'

/**
 * `npm run counts [-- --write]` prints the counts of names, words and structure. `--write` lowers the recorded limits.
 */

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const counts = measureCounts(readProductSources())
console.log(formatCounts(counts))
if (values.write) lowerLimits(counts, readLimits())
