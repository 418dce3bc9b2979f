import { PublicDatasetKey } from '../../public-dataset.ts'
import { describeField } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const datasetKeyField = describeField(
  PublicDatasetKey,
  'Public dataset',
  'The key of the public dataset.',
  'world_population',
)

/** A table that is published for all organisations of this installation. */
export const publicDataset = definePipelineVariant(connectorTypes.publicDataset, {
  requestFields: { key: datasetKeyField },
  responseFields: { key: datasetKeyField },
})
