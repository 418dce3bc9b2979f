import { SourceProblem } from '@sluice/row-stream'
import { CursorUnusable } from '../../http-connector/http-system.ts'
import { overlapSeconds } from '../../http-connector/paging.ts'
import { findAtPath } from './json-path.ts'
import { formatParameter, type RestApiSettings, type RestParameters } from './rest-request.ts'

type IncrementSettings = NonNullable<RestApiSettings['increment']>
type CursorType = NonNullable<IncrementSettings['cursorType']>
type CursorFormat = CursorType | 'DATE'

/** The position at which the next increment starts, as JSON. */
export interface RestCursor {
  /** Unix milliseconds for times, otherwise an integer. */
  position: string
  /** A cursor value in the format of the API. The request parameter is formatted in the same way. */
  example?: string
  /** Set if a user chose the start time. Then no record needs to have exactly this time. */
  isChosen?: true
}

/** Collects the cursor values of the records in one read. */
export interface RestIncrement {
  /** The request parameters that limit the response to changes. */
  parameters: RestParameters
  addRecords(records: readonly unknown[]): void
  /**
   * Returns the next cursor, or undefined if the previous one stays valid. Call it after the last page. `startedAt` is
   * the start of the read by the source's clock. Throws `SourceProblem` if no record has a cursor value, and
   * `CursorUnusable` if the record with the previous cursor no longer exists.
   */
  finish(startedAt: number): RestCursor | undefined
  /** The number of records without a cursor value. */
  readonly recordsWithoutCursor: number
}

const maxExampleLength = 100

/** Starts a read. `previousCursor` is the cursor of the previous load, or undefined for a full read. */
export function startIncrement(
  settings: IncrementSettings,
  previousCursor: RestCursor | undefined,
  redactText: (text: string) => string,
): RestIncrement {
  const { cursorField, cursorType = 'TIMESTAMP' } = settings
  let latest: { position: bigint; example: string } | undefined
  let recordsWithCursor = 0
  let recordsWithoutCursor = 0

  function addRecords(records: readonly unknown[]): void {
    for (const record of records) {
      if (typeof record !== 'object' || record === null || Array.isArray(record)) continue
      const value = findAtPath(record, cursorField)
      if (value === undefined || value === null || value === '') {
        recordsWithoutCursor += 1
        continue
      }
      const example = formatParameter(value)
      const position = parseCursor(cursorType, example)
      if (position === undefined) throw createUnsuitableProblem(settings, redactText(example))
      recordsWithCursor += 1
      if (!latest || position > latest.position) latest = { position, example }
    }
  }

  function finish(startedAt: number): RestCursor | undefined {
    if (recordsWithCursor === 0 && recordsWithoutCursor > 0) throw createMissingProblem(settings)
    if (previousCursor) assertPreviousRecordFound(previousCursor)
    if (!latest) return undefined
    // A record can have a time in the future. The cursor must not skip records that change before that time.
    const now = BigInt(Math.floor(startedAt))
    const isInFuture = cursorType !== 'NUMBER' && latest.position > now
    const position = isInFuture ? now : latest.position
    if (previousCursor && position <= BigInt(previousCursor.position)) return undefined
    return { position: String(position), ...(cursorType === 'TIMESTAMP' && { example: latest.example }) }
  }

  /** Throws `CursorUnusable` if the record with the previous cursor, and all later ones, no longer exist. */
  function assertPreviousRecordFound({ position, example, isChosen }: RestCursor): void {
    const previousPosition = BigInt(position)
    const isFound = latest !== undefined && latest.position >= previousPosition
    if (isFound || isChosen) return
    throw new CursorUnusable(
      `All records are read, because the API returned no record with a "${cursorField}" of ${formatCursor(cursorType, previousPosition, example)} or later, although an earlier load found one: records were deleted or restored.`,
    )
  }

  return {
    parameters: { [settings.parameter]: createParameter(settings, previousCursor) },
    addRecords,
    finish,
    get recordsWithoutCursor() {
      return recordsWithoutCursor
    },
  }
}

/**
 * Returns the cursor for a start time that a user chose. Returns undefined for numeric cursors, which are not times.
 */
export const createChosenCursor = ({ cursorType }: IncrementSettings, moment: string): RestCursor | undefined =>
  cursorType === 'NUMBER' ? undefined : { position: String(Date.parse(moment)), example: moment, isChosen: true }

/**
 * Returns the value of the request parameter that limits the response to changes: the previous cursor minus `lookback`
 * (in seconds for times), in the format of the settings. Returns `firstValue` for a full read.
 */
function createParameter(settings: IncrementSettings, previousCursor: RestCursor | undefined): string | undefined {
  const { cursorType = 'TIMESTAMP', sentAs = cursorType, template = '{cursor}', firstValue } = settings
  if (!previousCursor) return firstValue
  const isNumber = cursorType === 'NUMBER'
  const lookback = settings.lookback ?? (isNumber ? 1 : overlapSeconds)
  // The position of a time is in milliseconds.
  const start = BigInt(previousCursor.position) - BigInt(lookback) * (isNumber ? 1n : 1_000n)
  const cursor = formatCursor(sentAs, start, previousCursor.example)
  return template.replaceAll('{cursor}', () => cursor)
}

const timestampPattern =
  /^(?<day>\d{4}-\d\d-\d\d)(?:(?<separator>[T ])(?<hoursAndMinutes>\d\d:\d\d)(?<seconds>:\d\d)?(?<fraction>[.,]\d+)?\s?(?<zone>Z|[+-]\d\d(?::?\d\d)?)?)?$/i

/**
 * Parses a cursor value. A timestamp without a time zone counts as UTC. Returns undefined for a value that cannot be
 * compared.
 */
export function parseCursor(type: CursorType, text: string): bigint | undefined {
  if (type === 'TIMESTAMP') return parseTimestampCursor(text)
  if (type === 'NUMBER') return /^-?\d{1,40}$/.test(text) ? BigInt(text) : undefined
  if (!/^-?\d{1,15}(\.\d{1,12})?$/.test(text)) return undefined
  return BigInt(Math.floor(Number(text) * (type === 'UNIX_SECONDS' ? 1_000 : 1)))
}

function parseTimestampCursor(text: string): bigint | undefined {
  const groups = timestampPattern.exec(text.trim())?.groups
  if (!groups) return undefined
  const { day, hoursAndMinutes = '00:00', seconds = ':00', fraction = '', zone = 'Z' } = groups
  const milliseconds = fraction.replace(',', '.').slice(0, 4)
  const time = Date.parse(`${day}T${hoursAndMinutes}${seconds}${milliseconds}${normalizeZone(zone)}`)
  return Number.isNaN(time) ? undefined : BigInt(time)
}

/** Returns a time zone as `Z` or `+02:00`, from `z`, `+02`, `+0200` or `+02:00`. */
function normalizeZone(zone: string): string {
  const hasHoursOnly = zone.length === 3
  return hasHoursOnly ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2').toUpperCase()
}

/**
 * Formats a position for the request, in UTC. A timestamp is formatted like the example, a timestamp of the API: as a
 * day if the example has no time, with a space or `T` before the time, with milliseconds if the example has a fraction,
 * and with `Z` if the example has a time zone. Without an example, it has the form `2026-01-31T12:30:00Z`.
 */
function formatCursor(format: CursorFormat, position: bigint, example = ''): string {
  if (format === 'NUMBER' || format === 'UNIX_MILLISECONDS') return String(position)
  if (format === 'UNIX_SECONDS') return String(Math.floor(Number(position) / 1_000))
  const [day, timeWithMilliseconds] = new Date(Number(position)).toISOString().slice(0, -1).split('T')
  const { separator, fraction, zone } = timestampPattern.exec(example.trim())?.groups ?? {}
  const hasExample = example !== ''
  const isDayOnly = hasExample && separator === undefined
  if (format === 'DATE' || isDayOnly) return day!
  const time = fraction === undefined ? timeWithMilliseconds!.replace(/\.\d+$/, '') : timeWithMilliseconds!
  const lacksZone = hasExample && zone === undefined
  return `${day}${separator ?? 'T'}${time}${lacksZone ? '' : 'Z'}`
}

const createMissingProblem = ({ cursorField }: IncrementSettings): SourceProblem =>
  new SourceProblem(
    'INCREMENTAL_COLUMN_MISSING',
    `No record has a value in "${cursorField}" (restApi.increment.cursorField). Choose a field that each record has.`,
  )

const createUnsuitableProblem = (
  { cursorField, cursorType = 'TIMESTAMP' }: IncrementSettings,
  example: string,
): SourceProblem =>
  new SourceProblem(
    'INCREMENTAL_COLUMN_UNSUITABLE',
    `The value ${JSON.stringify(example.slice(0, maxExampleLength))} of "${cursorField}" (restApi.increment.cursorField) is not of the type ${cursorType}. Choose another cursorType or another field.`,
  )
