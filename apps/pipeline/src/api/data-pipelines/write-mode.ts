import type { DataPipelineBody, RunBody, WriteMode } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import { describeKey } from '@sluice/warehouses/duplicate-key'
import { describeMissingKey, findColumn } from '@sluice/warehouses/write-mode'
import type { Selectable } from 'kysely'
import type { DataPipelines } from '../../database.ts'

type WriteColumns = Pick<Selectable<DataPipelines>, 'write_mode' | 'merge_key'>

export const toWriteModeColumns = ({ writeMode, mergeKey }: Pick<DataPipelineBody, 'writeMode' | 'mergeKey'>) => ({
  write_mode: writeMode ?? 'REPLACE',
  merge_key: mergeKey ? JSON.stringify(mergeKey) : null,
})

export const presentWriteMode = ({ write_mode, merge_key }: WriteColumns) => ({
  writeMode: write_mode as WriteMode,
  mergeKey: (merge_key as string[] | null) ?? undefined,
})

/** Throws 422 if settings of the body contradict its write mode. */
export function assertWriteMode(body: DataPipelineBody): void {
  const { writeMode = 'REPLACE', mergeKey, schemaChanges, continuouslyUpdated } = body
  if (mergeKey && writeMode !== 'MERGE')
    throw problems.refused('/mergeKey', 'Only writeMode MERGE has a mergeKey. Remove it, or set writeMode to MERGE.')
  if (writeMode === 'REPLACE') return
  if (writeMode === 'MERGE' && !mergeKey && getDefinition(body.type).upload)
    throw problems.refused(
      '/mergeKey',
      'A file has no key by which rows can be merged. Set mergeKey to the columns that identify a row.',
    )
  if (mergeKey && 'tables' in body && (body.tables ?? []).length > 1)
    throw problems.refused(
      '/mergeKey',
      'With several tables, the rows of each table are merged by its primary key. Remove mergeKey, or load each table with a pipeline of its own.',
    )
  if (schemaChanges === 'REPLACE')
    throw problems.refused(
      '/schemaChanges',
      `With writeMode ${writeMode}, rows of earlier loads stay, so a load cannot replace the columns. Choose EVOLVE, IGNORE_NEW or FAIL.`,
    )
  if (continuouslyUpdated)
    throw problems.refused(
      '/continuouslyUpdated',
      `Continuous updates replace all rows at times, which contradicts writeMode ${writeMode}. Use a run trigger instead.`,
    )
  if ('incremental' in body && body.incremental)
    throw problems.refused(
      '/incremental',
      `Increments are merged by their own key, which contradicts writeMode ${writeMode}. Remove incremental, or set writeMode to REPLACE.`,
    )
}

/** Throws 422 if the requested run contradicts the pipeline's write mode. */
export function assertRunFitsWriteMode(
  { type, write_mode: writeMode }: Pick<Selectable<DataPipelines>, 'type' | 'write_mode'>,
  body: RunBody,
): void {
  if (body.mode === 'INCREMENTAL' && writeMode !== 'REPLACE')
    throw problems.refused(
      '/mode',
      `An incremental run needs writeMode REPLACE, and this pipeline has ${writeMode}. Leave out mode.`,
    )
  if (body.repeatFile && (writeMode !== 'APPEND' || !getDefinition(type).upload))
    throw problems.refused(
      '/repeatFile',
      'Only a pipeline with an uploaded file and writeMode APPEND can repeat a file. Leave out repeatFile.',
    )
}

/**
 * Returns sentences about rows of a preview that cannot be merged by the key, each about the first such rows. If SQL
 * statements change the rows before they are merged, only says if a column of the key is missing.
 */
export function describeKeyProblems(
  { columns, rows, lines }: Pick<SourcePreview, 'columns' | 'rows' | 'lines'>,
  mergeKey: readonly string[],
  { isTransformed = false } = {},
): string[] {
  if (mergeKey.length === 0) return []
  const missing = findMissingKey(columns, mergeKey)
  if (missing !== undefined) return [`A run would fail: ${describeMissingKey(columns, missing)}`]
  if (isTransformed) return []
  const keyColumns = mergeKey.map((key) => columns.findIndex(({ name }) => name === findColumn(columns, key)))
  const keys = rows.map((row) => keyColumns.map((column) => row[column] ?? null))
  const keysOfRows: KeysOfRows = {
    mergeKey,
    keys,
    noun: lines ? 'line' : 'row',
    positionOf: (row) => lines?.[row] ?? row + 1,
  }
  return [describeIncompleteKey(keysOfRows), describeRepeatedKey(keysOfRows)].filter((text) => text !== undefined)
}

interface KeysOfRows {
  mergeKey: readonly string[]
  /** The key of each row: its values of the columns in `mergeKey`, null for a missing value. */
  keys: readonly (readonly unknown[])[]
  noun: 'line' | 'row'
  /** Returns the number of a row in the source, from 1. */
  positionOf(row: number): number
}

/** Describes the first row with a missing value in its key; undefined if all keys are complete. */
function describeIncompleteKey({ mergeKey, keys, noun, positionOf }: KeysOfRows): string | undefined {
  const row = keys.findIndex((key) => key.includes(null))
  if (row === -1) return undefined
  const emptyColumn = mergeKey[keys[row]!.indexOf(null)]
  return `A run would fail: ${noun} ${positionOf(row)} has no value in "${emptyColumn}", which is in mergeKey.`
}

/** Describes the first two rows with the same key; undefined if all keys differ. */
function describeRepeatedKey({ mergeKey, keys, noun, positionOf }: KeysOfRows): string | undefined {
  const repeatedKey = findRepeatedKey(keys)
  if (!repeatedKey) return undefined
  const { firstRow, row } = repeatedKey
  return `A run would fail: ${noun}s ${positionOf(firstRow)} and ${positionOf(row)} have the same key (${describeKey(mergeKey, keys[row]!)}). Correct the source, or choose another mergeKey.`
}

/** Returns the indexes of the first two rows with the same complete key. */
function findRepeatedKey(keys: readonly (readonly unknown[])[]): { firstRow: number; row: number } | undefined {
  const rowByKey = new Map<string, number>()
  for (const [row, key] of keys.entries()) {
    if (key.includes(null)) continue
    const text = JSON.stringify(key)
    const firstRow = rowByKey.get(text)
    if (firstRow !== undefined) return { firstRow, row }
    rowByKey.set(text, row)
  }
  return undefined
}

/** Returns a column of the key that the source does not have. */
const findMissingKey = (
  columns: readonly { name: string; label: string }[],
  mergeKey: readonly string[],
): string | undefined => mergeKey.find((key) => findColumn(columns, key) === undefined)
