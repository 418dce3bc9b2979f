import { parseArgs } from 'node:util'
import { countsOf } from './code-metrics.ts'
import { productSources } from './product-sources.ts'
import { readRecorded, tableOf, writeRecorded } from './metric-limits.ts'

/** `npm run counts [-- --write]`: prints figures about names, words and structure; `--write` records those that fell. */

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const counts = countsOf(productSources())
console.log(tableOf(counts))
if (values.write) writeRecorded(counts, readRecorded())
