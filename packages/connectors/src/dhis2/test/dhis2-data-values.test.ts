import { testConnector } from '../../../test/conformance.ts'
import { dhis2DataValues } from './dhis2-stand-in.ts'

testConnector(dhis2DataValues)
