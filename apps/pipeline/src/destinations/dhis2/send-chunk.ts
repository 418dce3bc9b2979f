import type { RetryPolicy } from '@sluice/http-client'
import { retryRequest } from '../retry-push.ts'
import type { ChunkLimits, ValueItem } from '../value-chunks.ts'
import { DestinationProblem } from '../destination-problem.ts'
import type { PushReport } from '../push-report.ts'
import type { ImportOptions } from '../push-target.ts'
import type { Dhis2Api } from './dhis2-client.ts'
import { type ImportSummary, parseImportSummary, findErrorMessage } from './import-summary.ts'

/**
 * Requests are never made smaller than this number of values, because a failure then has another cause than the size.
 */
const minValues = 100

interface SendOptions {
  dhis2: Dhis2Api
  options: ImportOptions
  policy: RetryPolicy
  /** The maximum size of a request. Halved for all further requests when a request was too large. */
  limits: ChunkLimits
  signal: AbortSignal
  log: PushReport['log']
  /** Called for each request that DHIS2 imported or rejected. */
  onSent(items: readonly ValueItem[], summary: ImportSummary, bytes: number): void
}

/** The data set to which all values of a request belong. Newer releases of DHIS2 require it. */
export interface DataSet {
  id: string
  /** UID if this service chose the data set; undefined if a column of the view contains it. */
  idScheme?: 'UID'
}

/**
 * Sends values in one or several requests. If a request is too large, halves the size of all further requests in
 * `limits`, but not below `minValues`: at that size, `postValues` does not throw `RequestTooLarge`.
 */
export async function sendChunk(
  sendOptions: SendOptions,
  items: readonly ValueItem[],
  dataSet?: DataSet,
): Promise<void> {
  const { limits, policy, signal, log, onSent } = sendOptions
  let sentCount = 0
  while (sentCount < items.length) {
    const requestItems = items.slice(sentCount, sentCount + limits.values)
    const body = createBody(requestItems, dataSet)
    try {
      const summary = await retryRequest(() => postValues(sendOptions, body, dataSet), { policy, signal, log })
      onSent(requestItems, summary, Buffer.byteLength(body))
      sentCount += requestItems.length
    } catch (error) {
      if (!(error instanceof RequestTooLarge)) throw error
      const tooMany = requestItems.length
      limits.values = Math.max(minValues, Math.ceil(tooMany / 2))
      log('WARN', 'MEDIUM', `${error.message} Requests now have ${limits.values} values instead of ${tooMany}.`)
    }
  }
}

function createBody(items: readonly ValueItem[], dataSet: DataSet | undefined): string {
  const dataSetField = dataSet ? `"dataSet":${JSON.stringify(dataSet.id)},` : ''
  return `{${dataSetField}"dataValues":[${items.map(({ json }) => json).join(',')}]}`
}

class RequestTooLarge extends Error {
  override readonly name = 'RequestTooLarge'
}

/**
 * Sends one import and returns its summary. Throws `RequestTooLarge` if the request can be repeated with fewer values,
 * and `DestinationProblem` if the request fails, the response has no summary, or DHIS2 rejected the request as a whole.
 */
async function postValues(
  { dhis2, options, signal, limits }: SendOptions,
  body: string,
  dataSet?: DataSet,
): Promise<ImportSummary> {
  const { dryRun, ...schemes } = options
  const parameters = {
    ...schemes,
    dataSetIdScheme: dataSet?.idScheme,
    dryRun: String(dryRun ?? false),
    // Makes DHIS2 overwrite existing values, so repeating the import changes nothing.
    importStrategy: 'CREATE_AND_UPDATE',
  }
  let response: unknown
  try {
    response = await dhis2.post('dataValueSets', parameters, body, signal)
  } catch (error) {
    if (error instanceof DestinationProblem && error.maySucceedIfSmaller && limits.values > minValues)
      throw new RequestTooLarge(error.message)
    throw error
  }
  const summary = parseImportSummary(response)
  if (!summary) throw createRefusal(dhis2, response)
  const { status, imported, updated, ignored, deleted, conflicts, rejected } = summary
  const countsNoValue = imported + updated + ignored + deleted === 0 && !rejected?.length
  const hasOnlyGeneralConflicts = conflicts.every(({ indexes }) => indexes.length === 0)
  const isWholeRequestRejected = status === 'ERROR' && countsNoValue && hasOnlyGeneralConflicts
  if (isWholeRequestRejected) throw createRefusal(dhis2, response)
  return summary
}

function createRefusal(dhis2: Dhis2Api, response: unknown): DestinationProblem {
  const errorMessage = findErrorMessage(response)
  return new DestinationProblem(
    'TARGET_REFUSED',
    errorMessage
      ? `DHIS2 rejected the import. Its message: ${dhis2.redact(errorMessage)}`
      : 'DHIS2 answered without an import summary, so the result is unknown: check its version and the address.',
  )
}
