import type { Input } from '@sluice/http'
import type { UploadQuery } from '@sluice/contracts'
import type { PipelineContext } from '../operation.ts'
import { compareColumns } from './compare-columns.ts'
import { schemaOf } from './loaded-table.ts'
import { preview } from './preview.ts'
import type { DataPipelineRow } from './row.ts'

/**
 * How the columns of a file differ from those of the last load. Undefined where they do not, where nothing was loaded yet, and where
 * nobody can tell just now: the file is kept in any case, and its run says what is wrong with it.
 */
export async function compareUpload(
  input: Input<PipelineContext, '/data-pipelines/:uid/file', UploadQuery, undefined>,
  pipeline: DataPipelineRow,
  file: { uid: string; name: string },
): Promise<string | undefined> {
  try {
    const warehouse = await input.warehouses.find(pipeline.client)
    const last = await warehouse?.findFeed(await schemaOf(input.db, pipeline), pipeline.table_name)
    if (!last) return undefined
    const { type, settings } = pipeline
    const reading = { type, settings, secrets: {}, input: { file } }
    const { columns } = await preview(input, reading, { name: file.name, rows: 1 })
    return compareColumns(last, columns)
  } catch {
    return undefined
  }
}
