import { PublicDatasetKey } from '../../public-dataset.ts'
import { field } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const key = field(PublicDatasetKey, 'Public dataset', 'The key of the public dataset.', 'world_population')

/** A table that is published for all clients of this installation. */
export const publicDataset = variant(connectorTypes.publicDataset, { given: { key }, answered: { key } })
