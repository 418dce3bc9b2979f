import { pipelineOperations, searchOf } from '@sluice/contracts'
import { sharingOperations } from '@sluice/records'
import { operation } from '../operation.ts'
import { runOperations } from '../runs/operations.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import { deleteView } from './delete.ts'
import { readViewData, readViewTable } from './loaded-view.ts'
import { previewView } from './preview.ts'
import { views } from './records.ts'
import { createView, updateView } from './save.ts'

const { views: signatures } = pipelineOperations

export const viewOperations = {
  // Before those of one view, as whose uid its name could be taken.
  preview: operation(signatures.preview, previewView),
  list: operation(signatures.list, (input) => views.search(input.db, input, searchOf(input.query), input.request.url)),
  search: operation(signatures.search, (input) => views.search(input.db, input, input.body)),
  create: operation(signatures.create, createView),
  read: operation(signatures.read, async (input) =>
    views.answer(await views.read(input.db, input.caller, input.params.uid), input),
  ),
  update: operation(signatures.update, updateView),
  delete: operation(signatures.delete, deleteView),
  ...sharingOperations(signatures, { operation, records: views }, checkSharingTargets),
  ...runOperations(signatures, { kind: 'VIEW', records: views }),
  table: operation(signatures.table, readViewTable),
  data: operation(signatures.data, readViewData),
}
