import { again, type Patience } from '../retry.ts'
import type { ChunkLimits, Item } from '../chunks.ts'
import { DestinationProblem } from '../destination-problem.ts'
import type { PushReport } from '../push.ts'
import type { ImportOptions } from '../target.ts'
import type { Dhis2 } from './dhis2-client.ts'
import { type ImportSummary, importSummaryOf, messageOf } from './import-summary.ts'

/** Fewer values than these are not worth another halving: the trouble is another. */
const least = 100

interface Sending {
  dhis2: Dhis2
  options: ImportOptions
  patience: Patience
  /** Shrinks, for all that is sent afterwards, where a request was too much. */
  limits: ChunkLimits
  signal: AbortSignal
  log: PushReport['log']
  /** Told of each part that was taken or refused, as soon as that is known. */
  sent(items: readonly Item[], summary: ImportSummary, bytes: number): void
}

/** The data set that all values of a request belong to, where there has to be one. */
export interface DataSet {
  id: string
  /** As it is named: UID where we found it, else what the view's column holds. */
  idScheme?: 'UID'
}

/** Sends values, in halves where they are too much at once. */
export async function sendChunk(sending: Sending, items: readonly Item[], dataSet?: DataSet): Promise<void> {
  const { limits, patience, signal, log, sent } = sending
  const waits = ({ message, code }: DestinationProblem, seconds: number) =>
    log('WARN', 'MEDIUM', `${message} (${code}; next try in ${Math.ceil(seconds)} seconds)`)

  // The limit may have shrunk since these were put together, and may on the way.
  for (let at = 0; at < items.length; ) {
    const part = items.slice(at, at + limits.values)
    const body = bodyOf(part, dataSet)
    try {
      const summary = await again(() => post(sending, body, dataSet), { patience, signal, waits })
      sent(part, summary, Buffer.byteLength(body))
      at += part.length
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error
      limits.values = Math.max(least, Math.ceil(part.length / 2))
      log(
        'WARN',
        'MEDIUM',
        `${error.message} So fewer values are sent at once: ${limits.values} instead of ${part.length}.`,
      )
    }
  }
}

const bodyOf = (items: readonly Item[], dataSet: DataSet | undefined): string =>
  `{${dataSet ? `"dataSet":${JSON.stringify(dataSet.id)},` : ''}"dataValues":[${items.map(({ json }) => json).join(',')}]}`

/** The request has to be made smaller. */
class TooMuch extends Error {
  override readonly name = 'TooMuch'
}

async function post(
  { dhis2, options, signal, limits }: Sending,
  body: string,
  dataSet?: DataSet,
): Promise<ImportSummary> {
  const { dryRun, ...schemes } = options
  const parameters = {
    ...schemes,
    dataSetIdScheme: dataSet?.idScheme,
    dryRun: String(dryRun ?? false),
    // What makes it safe to send the same again.
    importStrategy: 'CREATE_AND_UPDATE',
  }
  let answer: unknown
  try {
    answer = await dhis2.post('dataValueSets', parameters, body, signal)
  } catch (error) {
    if (error instanceof DestinationProblem && error.tooMuch && limits.values > least) throw new TooMuch(error.message)
    throw error
  }
  const summary = importSummaryOf(answer)
  if (!summary) throw refused(dhis2, answer)
  const { status, imported, updated, ignored, deleted, conflicts, rejected } = summary
  const nothing = imported + updated + ignored + deleted === 0 && !rejected?.length
  if (status === 'ERROR' && nothing && conflicts.every(({ indexes }) => indexes.length === 0))
    throw refused(dhis2, answer)
  return summary
}

function refused(dhis2: Dhis2, answer: unknown): DestinationProblem {
  const said = messageOf(answer)
  return new DestinationProblem(
    'TARGET_REFUSED',
    said
      ? `DHIS2 refuses the import. It says: ${dhis2.words(said)}`
      : 'DHIS2 answers without an import summary, so nobody can tell what it took: check its version and the address.',
  )
}
