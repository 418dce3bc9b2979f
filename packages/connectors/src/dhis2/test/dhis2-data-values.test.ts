import { conforms } from '../../../test/conformance.ts'
import { dhis2DataValues } from './dhis2.scene.ts'

conforms(dhis2DataValues)
