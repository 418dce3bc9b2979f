import type { SourceBody, SourcePreview } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import type { PipelineContext } from '../operation.ts'
import { presentAnswer } from '../catalogue/present-answer.ts'
import { shares } from '../shares.ts'
import { type RequestedSource, requestedSource } from './requested-source.ts'
import { withVariables } from './requested-source.ts'
import type { FoundSheet } from '../../engine/sources/files/excel/choose-sheet.ts'
import type { Cell } from '../../engine/warehouses/warehouse.ts'
import { kindOf } from './types/registry.ts'
import { whileConnected } from './while-connected.ts'

type PreviewRequest = Input<PipelineContext, '/data-pipelines/preview', undefined, SourceBody>

/** Milliseconds that a preview may take. */
const longest = 30_000

/** Previews the first rows of a source that may not be saved yet. */
export async function previewSource(input: PreviewRequest): Promise<SourcePreview> {
  const { body } = input
  const kind = kindOf(body.type)
  kind.check(body)
  if (kind.upload && body.id === undefined)
    throw problems.refused(
      '/id',
      'Name the pipeline whose file is meant, or send the file itself to /api/v1/data-pipelines/preview-file.',
    )
  return preview(input, await requestedSource(input), {
    name: kind.sourceName(kind.settings(body)) ?? 'preview',
    rows: body.rows,
  })
}

type PreviewContext = Pick<PreviewRequest, 'sources' | 'caller' | 'request' | 'db' | 'keyRing'>

/** Presents the preview. Ends with the request, and after half a minute. Throws `SourceProblem`. */
export async function preview(
  input: PreviewContext,
  reading: RequestedSource,
  { name, rows = 100 }: { name: string; rows?: number | undefined },
): Promise<SourcePreview> {
  const start = new Date()
  const { found, hide } = await readFirstRows(input, reading, { rows, longest })
  return {
    ...presentAnswer(name, {
      columns: found.columns.map((column) => ({ primaryKey: false, ...column })),
      rows: found.rows.map((row) => row.map((cell) => hide.cell(cell as Cell))),
      startedAt: start.toISOString(),
      milliseconds: Date.now() - start.getTime(),
    }),
    complete: found.complete,
    rejected: found.rejected.map(({ line, column, reason, raw }) => ({
      line,
      column,
      reason,
      raw: hide.text(raw).slice(0, 8192),
    })),
    notes: found.notes.map((note) => hide.text(note).slice(0, 10_000)),
    ...(found.csvGuesses && { csvGuesses: found.csvGuesses }),
    ...(found.sheets && { sheets: found.sheets.slice(0, 1_000).map(presentSheet) }),
  }
}

/**
 * Returns the first rows as the source gives them, and `hide`, which removes the values of variables from texts. Throws a 422 after
 * `longest` milliseconds.
 */
export function readFirstRows(
  input: PreviewContext,
  reading: RequestedSource,
  { rows, longest }: { rows: number; longest: number },
) {
  const { sources, caller, request } = input
  return withVariables(input, reading, async (ready, _sentence, hide) => ({
    hide,
    found: await whileConnected(
      {
        socket: request.stream.socket,
        queue: shares.previews.queueOf(caller.client),
        longest,
        late: () => tooLittle(longest),
      },
      (signal) => sources.preview(ready, rows, signal),
    ),
  }))
}

const presentSheet = ({ number, name, isHidden, hasRows, isRead }: FoundSheet) => ({
  number,
  name: name.slice(0, 255),
  hidden: isHidden,
  hasRows,
  read: isRead,
})

const tooLittle = (longest: number): never => {
  throw problems.refused(
    '/',
    `The source gave too little within ${longest / 1000} seconds: ask it for less, or simply run it.`,
  )
}
