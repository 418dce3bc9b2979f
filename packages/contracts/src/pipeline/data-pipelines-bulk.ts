import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Uid } from '../field-types.ts'
import { DataPipelineBody, type SentDataPipelineBody } from './data-pipeline/data-pipeline.ts'

export const mostAtOnce = 1_000

/** Pipelines to save in one request, of one type or of several. The name selects the pipeline that each one replaces. */
export const DataPipelinesBody = defineContract(
  'DataPipelinesBody',
  Type.Object(
    {
      dataPipelines: Type.Array(Type.Unsafe<SentDataPipelineBody>(DataPipelineBody), {
        minItems: 1,
        maxItems: mostAtOnce,
      }),
    },
    noUnknownFields,
  ),
)
export type DataPipelinesBody = TypeOf<typeof DataPipelinesBody>

/** The result of each pipeline, in the order of the request. */
export const SavedDataPipelines = defineContract(
  'SavedDataPipelines',
  Type.Object(
    {
      dataPipelines: Type.Array(
        Type.Object(
          { id: Uid, name: SingleLineText, type: SingleLineText, result: Type.Enum(['CREATED', 'UPDATED']) },
          { ...noUnknownFields, title: 'SavedDataPipeline' },
        ),
        { maxItems: mostAtOnce },
      ),
    },
    noUnknownFields,
  ),
)
export type SavedDataPipelines = TypeOf<typeof SavedDataPipelines>
