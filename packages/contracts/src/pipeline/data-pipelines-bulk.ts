import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Uid } from '../field-types.ts'
import { DataPipelineBody, type SentDataPipelineBody } from './data-pipeline/data-pipeline.ts'

export const mostAtOnce = 1_000

/** Pipelines to save in one request, of one type or of several. The name selects the pipeline that each one replaces. */
export const DataPipelinesBody = contract(
  'DataPipelinesBody',
  Type.Object(
    {
      dataPipelines: Type.Array(Type.Unsafe<SentDataPipelineBody>(DataPipelineBody), {
        minItems: 1,
        maxItems: mostAtOnce,
      }),
    },
    closed,
  ),
)
export type DataPipelinesBody = TypeOf<typeof DataPipelinesBody>

/** The result of each pipeline, in the order of the request. */
export const SavedDataPipelines = contract(
  'SavedDataPipelines',
  Type.Object(
    {
      dataPipelines: Type.Array(
        Type.Object(
          { id: Uid, name: Line, type: Line, result: Type.Enum(['CREATED', 'UPDATED']) },
          { ...closed, title: 'SavedDataPipeline' },
        ),
        { maxItems: mostAtOnce },
      ),
    },
    closed,
  ),
)
export type SavedDataPipelines = TypeOf<typeof SavedDataPipelines>
