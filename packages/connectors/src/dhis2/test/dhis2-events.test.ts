import { conforms } from '../../../test/conformance.ts'
import { dhis2Events } from './dhis2-stand-in.ts'

conforms(dhis2Events('2.42.1'))
