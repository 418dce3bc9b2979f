import { conforms } from '../../../test/conformance.ts'
import { dhis2DataValues } from './dhis2-stand-in.ts'

conforms(dhis2DataValues)
